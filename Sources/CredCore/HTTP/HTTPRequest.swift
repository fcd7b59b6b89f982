/// A request as a value: the core makes it, the runtime's HTTP layer sends it.
public struct HTTPRequest: Sendable, Equatable {
  public enum Method: String, Sendable, CaseIterable {
    case get = "GET"
    case post = "POST"
  }

  public var method: Method
  /// An absolute `http` or `https` URL, percent-encoded.
  public var url: String
  /// Without `Host` and `Content-Length`: the HTTP layer derives both.
  public var headers: [HTTPHeader]
  /// Empty for a `GET`.
  public var body: Secret

  public init(method: Method, url: String, headers: [HTTPHeader] = [], body: Secret = Secret([])) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}

extension HTTPRequest {
  /// Method and URL for operators. A query may hold a secret.
  public var summary: String { "\(method.rawValue) \(url.prefix { $0 != "?" && $0 != "#" })" }
}
