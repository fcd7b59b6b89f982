/// The parts of an absolute URL that signatures are made over.
struct URLParts: Equatable {
  /// With the port where the URL names one.
  let authority: String
  /// Lower-case, without port and without the brackets of an IPv6 address.
  let host: String
  /// Starts with `/`.
  let path: String
  /// Without the `?`; empty where there is none.
  let query: String

  /// Nil for anything but `http://host…` and `https://host…` without a user part.
  init?(_ url: String) {
    let lower = url.lowercased()
    guard let scheme = ["https://", "http://"].first(where: { lower.hasPrefix($0) }) else {
      return nil
    }
    let rest = url.dropFirst(scheme.count).prefix { $0 != "#" }
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let target = rest.dropFirst(authority.count)
    let path = target.prefix { $0 != "?" }
    guard !authority.contains("@"), let host = Self.host(of: authority) else { return nil }
    self.authority = String(authority)
    self.host = host
    self.path = path.isEmpty ? "/" : String(path)
    self.query = String(target.dropFirst(path.count + 1))
  }

  private static func host(of authority: Substring) -> String? {
    let host: Substring
    if authority.hasPrefix("[") {
      guard authority.contains("]") else { return nil }
      host = authority.dropFirst().prefix { $0 != "]" }
    } else {
      host = authority.prefix { $0 != ":" }
    }
    return host.isEmpty ? nil : host.lowercased()
  }
}
