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
    ("http://u:hid#den@p.example and x@y", "http://…"),
    ("http://u:1/hidden@p.example", "http://…@p.example"),
    ("http://u:hidden and no more", "http://… and no more"),
    ("postgresql://u:hidden@db/x http://v:hidden@b", "postgresql://…@db/x http://…@b"),
    ("(see https://a.example:8443/x)", "(see https://a.example:8443/x)"),
    (
      "connect to https://a.example:8443: timed out", "connect to https://a.example:8443: timed out"
    ),
    ("https://a.example, https://[::1]:80/", "https://a.example, https://[::1]:80/"),
    ("mail a@b, file:///etc/x", "mail a@b, file:///etc/x"), ("://", "://"),
    ("proxy http://usr:12 hid9@p:3128 refused", "proxy http://…@p:3128 refused"),
    ("http://usr: hid9@p", "http://…@p"), ("http://hid9a hid9b@p", "http://…@p"),
    ("http://[::1 hid9@h", "http://…@h"), ("http:// usr:hid9@h", "http://…@h"),
    ("curl: (5) Could not resolve proxy: usr:hid9@p", "curl: (5) Could not resolve proxy: …@p"),
    ("Tunnel failed: usr:hid9@p", "Tunnel failed: …@p"), ("//usr:hid9@h", "//…@h"),
    ("'//usr:1 hid9@h", "'//…@h"), ("http:\\/\\/usr:1 hid9@h", "http:\\/\\/…@h"),
    ("GET https://h/x?token=hid9 failed", "GET https://h/x?… failed"),
    ("https://h/x?to=https://y/hid9 failed", "https://h/x?… failed"),
    ("https://h/x#token=hid9 https://h? no", "https://h/x#… https://h? no"),
    ("https://h/cb?user=bob@a.example&code=hid9 failed", "https://… failed"),
    ("https://h/cb#id=bob@a&token=hid9", "https://…"),
    ("Retries exceeded with url: /v1?key=hid9 (by x)", "Retries exceeded with url: /v1?… (by x)"),
    ("usr:hid9@p:3128/x?k=hid9", "…@p:3128/x?…"),
    ("POST /t?token=hid9 HTTP/1.1", "POST /t?… HTTP/1.1"),
    ("http:\\/\\/h:80\\/x failed", "http:\\/\\/h:80\\/x failed"), ("why? x=1", "why? x=1"),
    ("https://h failed at /t?k=hid9", "https://h failed at /t?…"),
    ("ask bob@a.example: or ssh bob@h:22", "ask bob@a.example: or ssh bob@h:22"), ("", ""),
    (":@", "…@"), ("@", "@"), ("//", "//"), ("://@", "://…@"),
  ])
  func areTakenOut(_ text: String, _ shown: String) {
    let found = String(decoding: URLLogins.removed(from: Array(text.utf8)), as: UTF8.self)
    expect(found, equals: shown)
    expect(RemoteText.clean(text.utf8)?.contains("hid") ?? false, equals: false)
  }

  /// What AWS writes has such words and links, and is no place for a backend's own.
  @Test func onlyAWSMayShowWhatLooksLikeItsNames() {
    let id = "5arhuwacg4o48yxyin4kcrony3b7q2mzt6"
    let name = "arn:aws:iam::123456789012:role/\(id)"
    let person = "arn:aws:sts::123456789012:assumed-role/app/bob@a.example"
    let link = "https://a.console.aws.amazon.com/iam/home?region=a#/authorization-details/\(id)"
    for said in ["authorization id: \(id)", name, link] {
      expect(RemoteText.clean(said.utf8, isFromAWS: true), equals: said)
      expect(RemoteText.clean(said.utf8)?.contains(id), equals: false)
    }
    expect(RemoteText.clean(person.utf8, isFromAWS: true), equals: person)
  }

  @Test func theFirstLineOfACommandStaysWithoutThem() {
    let said = "curl: (5) Unsupported proxy syntax in 'http://u:hidden@10.0.0.9:31x8'\nmore"
    let failure = UpstreamFailure.exec(
      ExecOutcome(ending: .exited(1), standardError: Array(said.utf8)), from: .backend("corp"))
    expect(failure.message.contains("Unsupported proxy syntax in 'http://…@10.0.0.9:31x8'"))
    expect(!failure.message.contains("hidden"))
  }
}
