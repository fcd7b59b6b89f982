import TestSupport
import Testing

@testable import CredCore

struct HTTPURLTests {
  @Test(
    arguments: [
      ("https://Auth.Example.com", true, "auth.example.com", ["Auth.Example.com", "/", nil]),
      ("http://127.0.0.1:4599/x?y=%20", false, "127.0.0.1", ["127.0.0.1:4599", "/x", "y=%20"]),
      ("https://[2001:db8::1]:8443/", true, "2001:db8::1", ["[2001:db8::1]:8443", "/", nil]),
      ("https://h?x=/", true, "h", ["h", "/", "x=/"]),
      ("https://h/a?", true, "h", ["h", "/a", ""]),
    ] as [(String, Bool, String, [String?])])
  func urls(text: String, isEncrypted: Bool, host: String, parts: [String?]) throws {
    let url = try HTTPURL(text)
    expect(url.isEncrypted, equals: isEncrypted)
    expect(url.host, equals: host)
    expect([url.authority, url.path, url.query], equals: parts)
    expect(url.text, equals: text)
  }

  @Test(arguments: [
    ("ftp://h/", "a URL must start with https:// or http://"),
    ("HTTPS://h/", "a URL must start with https:// or http://"),
    ("h/x", "a URL must start with https:// or http://"),
    ("https://", "the URL has no valid host"),
    ("https:///x", "the URL has no valid host"),
    ("https://:80/", "the URL has no valid host"),
    ("https://./", "the URL has no valid host"),
    ("https://..:80/x", "the URL has no valid host"),
    ("https://h,x/", "the URL has no valid host"),
    ("https://[::1/", "the URL has no valid host"),
    ("https://[abc]/", "the URL has no valid host"),
    ("https://h:/", "the URL's port is not a number from 1 to 65535"),
    ("https://h:0/", "the URL's port is not a number from 1 to 65535"),
    ("https://h:65536/", "the URL's port is not a number from 1 to 65535"),
    ("https://h:+8/", "the URL's port is not a number from 1 to 65535"),
    ("https://[::1]x/", "the URL's port is not a number from 1 to 65535"),
    ("https://u:p@h/", "a user name or password does not belong in a URL"),
    ("https://good@evil/", "a user name or password does not belong in a URL"),
    ("https://h/#f", "a URL here has no fragment ('#')"),
    ("https://h/a b", "the URL holds a character that must be percent-encoded"),
    ("https://h/é", "the URL holds a character that must be percent-encoded"),
    ("https://h\\x/", "the URL holds a character that must be percent-encoded"),
    ("https://h/%2", "'%' in a URL must be followed by two hexadecimal digits"),
    ("https://h/%zz", "'%' in a URL must be followed by two hexadecimal digits"),
    ("https://h%41/", "the URL has no valid host"),
    ("https://h/a/../b", "the URL's path holds '.' or '..'"),
    ("https://h/%2e%2E", "the URL's path holds '.' or '..'"),
    ("https://h/[x]", "brackets in a URL's path or query must be percent-encoded"),
  ])
  func refusedURLs(text: String, message: String) {
    #expect(throws: InvalidValue(message)) { try HTTPURL(text) }
  }

  @Test(arguments: [
    ("http://localhost/", true), ("http://LOCALHOST:80", true), ("http://127.0.0.1/", true),
    ("http://127.255.3.4/", true), ("http://[::1]/", true),
    ("http://localhost.example.com/", false),
    ("http://127.0.0.1.example.com/", false), ("http://127.1/", false),
    ("http://127.0.0.256/", false),
    ("http://127.0.0.01/", false), ("http://0.0.0.0/", false), ("http://[::2]/", false),
  ])
  func loopback(text: String, isLoopback: Bool) throws {
    expect(try HTTPURL(text).isLoopback, equals: isLoopback)
  }

  @Test(arguments: [
    "localhost", "LOCALHOST.", "app.localhost", "localhost.localdomain", "ip6-loopback",
    "127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "127.255.255.254", "0x7f.1", "0X7F000001",
    "2130706433", "017700000001", "0177.0.0.01", "0", "0.0.0.0", "0.1", "[::1]", "[::]",
    "[0:0:0:0:0:0:0:1]", "[::0001]", "[::ffff:127.0.0.1]", "[::FFFF:7f00:1]", "[::127.0.0.1]",
    "[0:0:0:0:0:ffff:7f01:203]", "[::ffff:0.0.0.0]",
  ])
  func everySpellingOfAnAddressOfThisHostIsKnown(_ host: String) throws {
    expect(try HTTPURL("https://\(host):8443/t").mayReachThisHost)
  }

  @Test(arguments: [
    "login.example.com", "localhost.example.com", "mylocalhost", "127.0.0.1.example.com", "128.1",
    "126.255.255.255", "2147483648", "0x80.1", "127.0.0.0.1", "127.0.0.256", "08.1", "0x", "0xg",
    "4294967296", "127.16777216", "192.168.0.1", "[::2]", "[2001:db8::1]", "[fe80::1]",
    "[::ffff:192.168.0.1]", "[1::ffff:127.0.0.1]", "[::1:0]", "[64:ff9b::7f00:1]",
  ])
  func anotherHostIsNotTakenForThisOne(_ host: String) throws {
    expect(try !HTTPURL("https://\(host)/t").mayReachThisHost)
  }

  @Test(arguments: [
    "1:2", "::1::", ":::", "1:2:3:4:5:6:7:8:9", "::12345", "::127.0.0.1:1", "::1.2.3.256",
  ])
  func whatIsNoAddressIsNone(_ text: String) {
    expect(HostAddress(text) == nil)
  }
}
