/// One header of a request. The value is a ``Secret`` because `Authorization` is one, and because
/// a request is then printed without any of its values.
public struct HTTPHeader: Sendable, Equatable {
  public let name: String
  public let value: Secret

  /// For names and values that credd itself makes up.
  init(_ name: String, _ value: String) {
    self.name = name
    self.value = Secret(value)
  }

  /// For what was checked already.
  init(_ name: String, _ value: Secret) {
    self.name = name
    self.value = value
  }

  /// For what a configuration, a file or a caller brought in.
  ///
  /// - Throws: when the name is no token of RFC 9110 or the value holds a control character: a
  ///   line break would let a token smuggle in a second header.
  public init(checkingName name: String, value: Secret) throws(InvalidInput) {
    guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenByte) else {
      throw InvalidInput(field: "header name", reason: "is not a header name")
    }
    guard value.bytes.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }) else {
      throw InvalidInput(field: "header \(name)", reason: "holds a control character")
    }
    self.name = name
    self.value = value
  }

  /// `tchar` of RFC 9110 §5.6.2.
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains(byte)
  }
}
