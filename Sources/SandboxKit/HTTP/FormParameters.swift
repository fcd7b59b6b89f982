/// The parameters of a query or of an `application/x-www-form-urlencoded` body.
struct FormParameters {
  private var values: [String: String] = [:]

  /// - Parameter text: `name=value&…`, percent-encoded. The first of two equal names counts. What
  ///   is not UTF-8 once decoded is left out.
  init(_ text: String) {
    for pair in text.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = percentDecoded(parts[0], plusIsSpace: true),
        let value = percentDecoded(parts.count > 1 ? parts[1] : "", plusIsSpace: true)
      else { continue }
      if values[name] == nil { values[name] = value }
    }
  }

  /// Query and form body together: the sample protocol takes its parameters from either.
  init(of request: HTTPRequest) {
    let form = request.method == "POST" ? String(decoding: request.body, as: UTF8.self) : ""
    self.init(request.query + "&" + form)
  }

  subscript(_ name: String) -> String? { values[name] }

  var names: Set<String> { Set(values.keys) }
}

/// The text without its percent-encoding; nil where it is broken or not UTF-8.
func percentDecoded(_ text: Substring, plusIsSpace: Bool = false) -> String? {
  var bytes: [UInt8] = []
  var rest = text.utf8[...]
  while let byte = rest.popFirst() {
    switch byte {
    case UInt8(ascii: "%"):
      guard rest.count >= 2, let code = UInt8(String(Substring(rest.prefix(2))), radix: 16) else {
        return nil
      }
      bytes.append(code)
      rest = rest.dropFirst(2)
    case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
    default: bytes.append(byte)
    }
  }
  return String(validating: bytes, as: UTF8.self)
}
