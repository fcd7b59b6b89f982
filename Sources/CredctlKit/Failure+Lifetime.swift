internal import CredCore

extension Failure {
  /// The same where the lifetime that was asked for may be credctl's own choice: `get` sends none
  /// unasked, and nothing else in such a request can be invalid.
  public var advisingShorterLifetime: Failure {
    guard code == ProtocolErrorCode.invalidRequest.rawValue else { return self }
    var failure = self
    failure.message += ": take less with '--min-ttl'"
    return failure
  }
}
