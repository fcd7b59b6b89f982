/// Bytes that must not be shown: a token, a key, a password.
///
/// Copies share one buffer. A secret has no description: its bytes get out only if code asks for
/// them. The buffer is overwritten when the last copy is freed, because in credd's programs `free`
/// itself wipes memory, for every library too (`Sources/CWipingFree`).
public struct Secret: Sendable, Equatable, Redacted {
  /// The bytes themselves. A copy in another buffer is a second secret.
  public let bytes: [UInt8]

  public init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// Makes a secret from text that already exists as a `String`: a literal in a test, a typed
  /// password.
  public init(_ text: String) {
    self.bytes = Array(text.utf8)
  }

  /// Length in bytes.
  public var count: Int { bytes.count }

  /// Whether there are no bytes.
  public var isEmpty: Bool { bytes.isEmpty }

  /// Appends the bytes to a buffer, which is then as secret as the bytes.
  public func append(to buffer: inout [UInt8]) {
    buffer.append(contentsOf: bytes)
  }

  /// The bytes as text, for an API that needs a `String`; nil if they are not UTF-8.
  public func exposedText() -> String? {
    String(validating: bytes, as: UTF8.self)
  }
}
