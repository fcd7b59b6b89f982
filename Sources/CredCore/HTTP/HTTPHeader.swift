/// One header of a request. The value is a ``Secret``, because `Authorization` contains one. So a
/// request is printed without header values.
public struct HTTPHeader: Sendable, Equatable {
  public let name: String
  public let value: Secret

  /// For credd's own names and values.
  init(_ name: String, _ value: String) {
    self.name = name
    self.value = Secret(value)
  }

  /// For names and values that are already checked.
  init(_ name: String, _ value: Secret) {
    self.name = name
    self.value = value
  }

  /// For names and values from a configuration, a file or a client.
  ///
  /// - Throws: if the name is no token of RFC 9110, or if the value contains a control character. A
  ///   line break in a value would add a second header.
  public init(checkingName name: String, value: Secret) throws(InvalidInput) {
    guard name.isHeaderName else {
      throw InvalidInput(field: "header name", reason: "is not a header name")
    }
    guard value.bytes.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }) else {
      throw InvalidInput(field: "header \(name)", reason: "holds a control character")
    }
    self.name = name
    self.value = value
  }
}

extension HTTPHeader {
  /// - Throws: as ``init(checkingName:value:)``.
  public static func checked(
    _ values: [(name: String, value: Secret)]
  ) throws(InvalidInput) -> [HTTPHeader] {
    var headers: [HTTPHeader] = []
    for (name, value) in values {
      headers.append(try HTTPHeader(checkingName: name, value: value))
    }
    return headers
  }
}
