/// The reason why the kernel's report about a connection was missing or useless.
public enum AttestationFailure: String, Error, Sendable, CaseIterable {
  /// The kernel was asked and did not answer, or answered something else.
  case noAnswer = "no_answer"
  /// The kernel knows no such socket: the other end is in another network namespace, or is gone.
  case unknown
  case anotherSocket = "another_socket"
  /// No process has the other end any more.
  case closed
  case notEstablished = "not_established"
  case ownEndClosed = "own_end_closed"
}
