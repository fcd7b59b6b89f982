/// What the first line of a request names.
public struct RequestTarget: Sendable, Equatable {
  public let path: String
  /// Without the question mark.
  public let query: String

  public init(_ text: String) {
    // By bytes, here and below: a separator and a mark after it would be one Character.
    let parts = text.utf8.split(
      separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
    var path = parts[0]
    // The form for proxies, which servers take too (RFC 9112, 3.2.2).
    for scheme in ["http://", "https://"] where path.starts(with: scheme.utf8) {
      path = path.dropFirst(scheme.utf8.count).drop { $0 != UInt8(ascii: "/") }
    }
    self.path = String(Substring(path))
    query = parts.count > 1 ? String(Substring(parts[1])) : ""
  }
}

/// The parameters of a query or a form.
public struct FormValues: Sendable, Equatable {
  private let values: [String: String]

  /// Nil if a name is given twice, or is not percent-encoded UTF-8.
  public init?(_ texts: [String]) {
    var values: [String: String] = [:]
    for text in texts {
      for pair in text.utf8.split(separator: UInt8(ascii: "&")) {
        let name = Substring(pair.prefix { $0 != UInt8(ascii: "=") })
        let value = Substring(pair.dropFirst(name.utf8.count + 1))
        guard let name = name.percentDecoded(isForm: true),
          let value = value.percentDecoded(isForm: true), values[name] == nil
        else { return nil }
        values[name] = value
      }
    }
    self.values = values
  }

  public subscript(name: String) -> String? { values[name] }

  public var names: [String] { Array(values.keys) }
}
