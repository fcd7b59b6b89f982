import TestSupport
import Testing

@testable import CredCore

/// Users and passwords of URLs in the text of a program.
struct URLLoginsTests {
  @Test(arguments: [
    ("no URL at all", "no URL at all"),
    ("cannot reach http://u:hidden@10.0.0.9:3128/x", "cannot reach http://…@10.0.0.9:3128/x"),
    ("http://u:hid@den@p.example: bad", "http://…@p.example: bad"),
    (
      "Unsupported proxy 'http://u:hidden@10.0.0.9:31x8'",
      "Unsupported proxy 'http://…@10.0.0.9:31x8'"
    ),
    ("http://u:hid den@p.example:1 is", "http://…@p.example:1 is"),
    ("http://u:hid#den@p.example and x@y", "http://…@y"),
    ("http://u:1/hidden@p.example", "http://…@p.example"),
    ("http://u:hidden and no more", "http://… and no more"),
    ("postgresql://u:hidden@db/x http://v:hidden@b", "postgresql://…@db/x http://…@b"),
    ("(see https://a.example:8443/x)", "(see https://a.example:8443/x)"),
    (
      "connect to https://a.example:8443: timed out", "connect to https://a.example:8443: timed out"
    ),
    ("https://a.example, https://[::1]:80/", "https://a.example, https://[::1]:80/"),
    ("mail a@b, file:///etc/x", "mail a@b, file:///etc/x"), ("://", "://"),
  ])
  func areTakenOut(_ text: String, _ shown: String) {
    let found = String(decoding: URLLogins.removed(from: Array(text.utf8)), as: UTF8.self)
    expect(found, equals: shown)
    expect(RemoteText.clean(text.utf8)?.contains("hid") ?? false, equals: false)
  }

  @Test func theFirstLineOfACommandStaysWithoutThem() {
    let said = "curl: (5) Unsupported proxy syntax in 'http://u:hidden@10.0.0.9:31x8'\nmore"
    let failure = UpstreamFailure.exec(
      ExecOutcome(ending: .exited(1), standardError: Array(said.utf8)), from: .backend("corp"))
    expect(failure.message.contains("Unsupported proxy syntax in 'http://…@10.0.0.9:31x8'"))
    expect(!failure.message.contains("hidden"))
  }
}
