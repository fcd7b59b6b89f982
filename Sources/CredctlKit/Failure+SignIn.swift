internal import CredCore

extension Failure {
  /// Whether a `login` that brought nothing with it was refused for want of a password.
  public var wantsPassword: Bool { code == ProtocolErrorCode.signInRequired.rawValue }
}
