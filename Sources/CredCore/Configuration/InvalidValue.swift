/// The reason why a value or a text is not accepted. The message never contains a secret.
public struct InvalidValue: Error, Sendable, Equatable {
  /// Lower-case, without a full stop.
  public let message: String

  public init(_ message: String) {
    self.message = message
  }
}
