/// An error in a reply.
public struct ProtocolError: Error, Equatable, Sendable {
  public var code: ProtocolErrorCode
  /// One line that says what to do, without a secret. It may quote the client's request, so it is
  /// sent to that client and not logged.
  public var message: String
  /// The time after which a new request may succeed; sent in whole seconds, rounded up.
  public var retryAfter: Duration?
  public var kind: ProtocolErrorKind
  /// The upstream's name for the error, `[A-Za-z]{1,64}`.
  public var reason: String?
  /// The challenge that may be answered again.
  public var handle: ChallengeHandle?
  /// Whether a password was perhaps refused. Then it counts as wrong, but clients are not told.
  public var mayJudgeSecret = false
  /// Whether the trouble is of a derived profile's source. What it names is not for everybody: see
  /// ``toldElsewhere``.
  public var isOfSource = false
  /// The message for a client that is not the user whom the error concerns; nil if every client
  /// gets ``message``.
  public var messageForOthers: String?

  public init(_ code: ProtocolErrorCode, _ message: String, retryAfter: Duration? = nil) {
    self.code = code
    self.message = message
    self.retryAfter = retryAfter
    kind = code.kind
  }

  /// This error, without an upstream's text about another user.
  public var forOthers: ProtocolError {
    var error = self
    if let messageForOthers { error.message = messageForOthers }
    return error
  }

  /// A line is over the limit. The daemon closes the connection after this reply, because the start
  /// of the next request is unknown.
  public static let requestTooLarge = ProtocolError(
    .requestTooLarge, "a request line must not be longer than \(Limits.Line.bytes) bytes")

  /// The answer to everybody at a socket with a cap that has no section, or is not passed as one.
  public static let closedSocket = ProtocolError(
    .accessDenied, "credd serves nothing at this socket: its journal says why")

  /// Over a socket with a cap, the trouble of a source that the socket does not have.
  public static let toldElsewhere =
    "the profile's source gave nothing: outside of this socket credd says why"

  /// What a user does about a `SignInRequired` over a socket with a cap.
  public static let signInElsewhere = "sign in outside of this socket"
}
