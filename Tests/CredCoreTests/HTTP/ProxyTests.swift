import CredCore
import TestSupport
import Testing

/// Which proxy a request takes, and what is said of one that cannot be read.
struct ProxyTests {
  private func chosen(
    _ url: String, _ environment: [String: String], unixSocket: String? = nil
  ) throws -> Proxy? {
    var settings = HTTPSettings(timeout: .seconds(1), replyLimit: 1)
    settings.unixSocket = unixSocket
    return try Proxy.chosen(for: HTTPRequest(method: .get, url: url), settings) { environment[$0] }
  }

  @Test func theSchemeDecidesWhichVariableCounts() throws {
    let all = [
      "https_proxy": "http://s:1", "HTTPS_PROXY": "http://S:2", "http_proxy": "http://p:3",
      "HTTP_PROXY": "http://cgi:4", "all_proxy": "socks5h://a", "ALL_PROXY": "http://A:6",
    ]
    func place(_ url: String, without names: String...) throws -> String? {
      let place = try chosen(url, all.filter { !names.contains($0.key) })?.name
      return place.map { "\($0.variable) \($0.address)" }
    }
    let (secure, plain) = ("https://a.example/", "http://a.example/")
    expect(try place(secure), equals: "https_proxy s:1")
    expect(try place(secure, without: "https_proxy"), equals: "HTTPS_PROXY S:2")
    expect(
      try place(secure, without: "https_proxy", "HTTPS_PROXY"), equals: "all_proxy a:1080")
    expect(try place(plain), equals: "http_proxy p:3")
    // A header of a stranger becomes HTTP_PROXY in a CGI program.
    expect(try place(plain, without: "http_proxy"), equals: "all_proxy a:1080")
    expect(try place(plain, without: "http_proxy", "all_proxy"), equals: "ALL_PROXY A:6")
    expect(try chosen(secure, ["https_proxy": ""]) == nil)
  }

  @Test func whatStaysOnThisHostTakesNone() throws {
    let all = ["all_proxy": "http://p:1"]
    expect(try chosen("http://127.0.0.1/", all) == nil)
    expect(try chosen("https://localhost/", all) == nil)
    expect(try chosen("https://a.example/", all, unixSocket: "/run/s") == nil)
    expect(try chosen("https://a.example/", all) != nil)
  }

  @Test(arguments: [
    ("*", "a.example", true), ("a.example", "a.example", true), (".example", "a.example", true),
    ("x,a.example", "b.a.example", true), ("x a.example", "A.EXAMPLE", true),
    ("a.example", "ba.example", false), ("a.example.", "a.example", true),
    ("a.example", "a.example.", true), ("", "a.example", false), (".", "a.example", false),
    ("192.0.2.7", "192.0.2.7", true), ("192.0.2.0/24", "192.0.2.7", true),
    ("192.0.2.0/29", "192.0.2.8", false), ("0.0.0.0/0", "192.0.2.8", true),
    ("192.0.2.0/33", "192.0.2.0", false), ("2001:db8::/32", "[2001:db8::1]", true),
    ("[2001:db8::1]", "[2001:db8::1]", true), ("2001:db8::/32", "[2001:db9::1]", false),
    ("0.0.0.0/0", "[2001:db9::1]", false), ("2", "192.0.2.2", false),
  ])
  func hostsWithoutAProxy(_ list: String, _ host: String, _ isOne: Bool) throws {
    let chosen = try chosen("https://\(host)/", ["https_proxy": "http://p:1", "no_proxy": list])
    expect(chosen == nil, equals: isOne)
  }

  @Test(arguments: [
    ("p.example", "p.example:1080"), ("p.example:3128", "p.example:3128"),
    ("https://p.example", "p.example:443"), ("socks://p.example", "p.example:1080"),
    ("HTTP://u:p%40ss@p.example:80/", "p.example:80"),
    ("socks5://[2001:db8::1]", "[2001:db8::1]:1080"), ("http://[::2]:3128", "[::2]:3128"),
  ])
  func aProxyIsShownByHostAndPort(_ value: String, _ shown: String) throws {
    let proxy = try chosen("https://a.example/", ["https_proxy": value])
    expect(proxy?.name.address, equals: shown)
    expect(proxy?.url.exposedText(), equals: value)
  }

  @Test(arguments: [
    ("http://u:hidden@10.99.0.9:31x8", "the URL's port is not a number from 1 to 65535"),
    ("http://u:hidden@10.99.0.9:3128 ", "a blank"), ("http://u:hid@den@p:1", "must be %40"),
    ("http://u:hidden#x@p:1", "'#'"), ("http://u:hidden/x@p:1", "percent-encoded"),
    ("http://u:hidden\u{FFFD}@p:1", "no UTF-8"), ("http://u:hidden%0a@p:1", "control character"),
    ("hidden://p:1", "must begin with"),
    ("http://u:hidden@", "no valid host"), ("http://", "no valid host"),
  ])
  func aValueThatCannotBeReadIsNotQuoted(_ value: String, _ reason: String) {
    #expect {
      _ = try chosen("https://a.example/", ["https_proxy": value])
    } throws: { error in
      guard let error = error as? InvalidInput else { return false }
      return error.field == "https_proxy" && error.reason.contains(reason)
        && !error.reason.contains("InvalidValue")
        && !error.reason.contains("hid")
    }
  }
}
