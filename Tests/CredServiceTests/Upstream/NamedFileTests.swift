import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Files that the configuration names, as they are read for a call.
struct NamedFileTests {
  private func bearer(_ content: String) throws -> (ServiceFixture, Reply) {
    let fixture = try ServiceFixture(Configured.usual(backend: "bearer_token_file = /etc/token"))
    fixture.host.queries.files["/etc/token"] = content
    return (fixture, try fixture.ask())
  }

  @Test func filesOfEveryKindMayBeginWithAByteOrderMark() throws {
    let (fixture, reply) = try bearer("\u{FEFF}secret\r\n")
    expect(reply.accessKeyID != nil)
    expect(
      fixture.host.http.requests.first?.header("Authorization"), equals: "Bearer secret")

    let basic = try ServiceFixture(
      Configured.usual(
        profile: """
          flow = basic
          role_arn = arn:aws:iam::123456789012:role/reader
          sts_endpoint = http://127.0.0.1:4599
          policy_file = /etc/policy
          """))
    basic.host.queries.files["/etc/policy"] = "\u{FEFF}{}"
    expect(try basic.ask().accessKeyID != nil)
    let form = basic.host.http.requests.last?.body.exposedText() ?? ""
    expect(form.contains("&Policy=%7B%7D"), "\(form)")
  }

  @Test(arguments: [
    ("\n", "holds nothing but white space"), ("one\ntwo\n", "has more than one line"),
    ("o\0n\0e\0", "holds a NUL byte"),
  ])
  func aFileThatIsOfNoUseIsNamedByItsKeyAndPath(_ content: String, _ fault: String) throws {
    let (fixture, reply) = try bearer(content)
    expect(reply.errorCode, equals: "BackendUnavailable")
    expect(
      reply.errorMessage?.contains("bearer_token_file /etc/token \(fault)") == true, "\(reply)")
    expect(reply["Error"]?["Kind"]?.text, equals: "permanent")
    expect(fixture.host.http.requests.isEmpty)
  }
}
