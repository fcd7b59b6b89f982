/// One HTTP request, read as a whole.
public struct HTTPRequest: Sendable {
  public var method: String
  /// The path as it was sent, percent-encoded.
  public var path: String
  /// What follows `?`, percent-encoded; empty without.
  public var query: String
  /// Fields in the order they came; names as they were spelt.
  public var headers: [HTTPField]
  public var body: [UInt8]

  /// - Parameter target: the request target, path and query; or with scheme and authority before
  ///   it, as one who takes this server for its proxy sends it (RFC 9112 §3.2.2).
  public init(method: String, target: String, headers: [HTTPField] = [], body: [UInt8] = []) {
    self.method = method
    var target = Substring(target)
    if let scheme = ["http://", "https://"].first(where: { target.hasPrefix($0) }) {
      target = target.dropFirst(scheme.count).drop { $0 != "/" }
      if target.isEmpty { target = "/" }
    }
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    self.path = String(parts.first ?? "/")
    self.query = parts.count > 1 ? String(parts[1]) : ""
    self.headers = headers
    self.body = body
  }

  /// The first field of this name, whatever its case.
  public func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  /// What `Authorization: Bearer …` carries.
  public var bearerToken: String? {
    guard let value = header("Authorization"), value.lowercased().hasPrefix("bearer ") else {
      return nil
    }
    return String(value.dropFirst("bearer ".count))
  }
}

/// One header field.
public struct HTTPField: Sendable, Equatable {
  public var name: String
  public var value: String

  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}
