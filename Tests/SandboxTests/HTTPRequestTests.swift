import SandboxKit
import TestSupport
import Testing

struct HTTPRequestTests {
  /// Clients that take the sandbox for their proxy name the server in the target.
  @Test(arguments: [
    ("/token/a?host=b", "/token/a", "host=b"), ("http://backend.test/token?x", "/token", "x"),
    ("https://a:1/", "/", ""), ("http://a", "/", ""), ("*", "*", ""),
  ])
  func targets(_ target: String, path: String, query: String) {
    let request = HTTPRequest(method: "GET", target: target)
    expect(request.path, equals: path)
    expect(request.query, equals: query)
  }
}
