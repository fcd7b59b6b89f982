/// Why a line is not a request, and which request it would have been.
public struct RequestError: Error, Equatable, Sendable {
  public var error: ProtocolError
  /// The request's own id, where it could still be read.
  public var id: RequestID?

  public init(_ error: ProtocolError, id: RequestID? = nil) {
    self.error = error
    self.id = id
  }
}
