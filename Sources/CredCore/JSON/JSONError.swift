/// Why a text is not JSON, and where. Never quotes a value, because values may be secret.
public struct JSONError: Error, Equatable, Sendable {
  /// Bytes from the start of the text, counted from 0.
  public var offset: Int
  /// Lower-case, without a full stop: `expected ':' after the key`.
  public var message: String

  public init(offset: Int, message: String) {
    self.offset = offset
    self.message = message
  }
}
