/// A text that is not what it should be. The message says what is wrong and never holds a secret.
public struct InvalidValue: Error, Sendable, Equatable {
  /// Lower-case, without a full stop.
  public let message: String

  public init(_ message: String) {
    self.message = message
  }
}
