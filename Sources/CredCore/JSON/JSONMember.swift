/// One name and value of a JSON object, in the order of the text.
public struct JSONMember: Sendable, Equatable {
  public var key: String
  /// Position of the key's opening quote: bytes from the start of the text.
  public var keyOffset: Int
  public var value: JSONValue

  public init(key: String, keyOffset: Int, value: JSONValue) {
    self.key = key
    self.keyOffset = keyOffset
    self.value = value
  }

  /// Whether the key is this name, byte for byte. `==` on strings also matches canonically
  /// equivalent ones: the Kelvin sign equals a K.
  func isNamed(_ name: String) -> Bool {
    key.utf8.elementsEqual(name.utf8)
  }
}
