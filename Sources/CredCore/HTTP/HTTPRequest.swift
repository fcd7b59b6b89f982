/// A request to send, as a value: the core makes it, the runtime's HTTP layer performs it.
public struct HTTPRequest: Sendable, Equatable {
  public enum Method: String, Sendable {
    case get = "GET"
    case post = "POST"
  }

  public var method: Method
  /// An absolute `http` or `https` URL, percent-encoded.
  public var url: String
  /// `Host` and `Content-Length` are not among them: the HTTP layer derives both.
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
