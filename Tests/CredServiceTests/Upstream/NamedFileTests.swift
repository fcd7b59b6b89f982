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

  // MARK: Values

  @Test func aHeaderOfAFileIsReadForEachCallAndHidden() throws {
    let fixture = try ServiceFixture(
      Configured.usual(
        backend: "header.X-Team = infra\nheader_file.X-Api-Key = /etc/key\nlogin_url = "
          + "http://127.0.0.1/login"))
    fixture.host.queries.files["/etc/key"] = "hush-api-key-1\n"
    _ = try fixture.ask(#"{"op":"login","username":"alice","password":"alice-password"}"#)
    fixture.host.queries.files["/etc/key"] = "\u{FEFF}hush-api-key-2\n"
    expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
    let sent = fixture.host.http.requests.filter { $0.header("X-Team") == "infra" }
    expect(sent.first?.header("X-Api-Key"), equals: "hush-api-key-1")
    expect(sent.last?.header("X-Api-Key"), equals: "hush-api-key-2")

    fixture.host.upstreams.faults["token"] = .status(
      403, #"{"message":"the key hush-api-key-2 is not for alice"}"#)
    let reply = try fixture.ask(#"{"refresh":true}"#)
    let told = "\(reply) \(fixture.host.log.entries)"
    expect(told.contains("is not for alice") && !told.contains("hush"), "\(told)")

    fixture.host.queries.files["/etc/key"] = "one\ntwo\n"
    let count = fixture.host.http.requests.count
    fixture.advance(by: .seconds(600))
    let refused = try fixture.ask(#"{"refresh":true}"#)
    expect(
      "\(refused) \(fixture.host.log.messages)".contains(
        "header_file.X-Api-Key /etc/key has more than one line"), "\(refused)")
    expect(fixture.host.http.requests.dropFirst(count).allSatisfy { $0.operation != "token" })
  }

  @Test func aVariableOfAFileIsReadForEachRunAndHidden() throws {
    let fixture = try ServiceFixture(
      """
      [backend corp]
      type = exec
      command = /bin/token
      environment.HOST = ldap.example.com
      environment_file.PASSWORD = /etc/ldap

      """ + Configured.profile("default"))
    fixture.host.commands.outcome = { command in
      let password = command.environment.first { $0.name == "PASSWORD" }?.value
      return ExecOutcome(
        ending: .exited(77),
        standardError: Array("no: \(password?.exposedText() ?? "")\n".utf8))
    }
    for (number, content) in ["hush-ldap-1\n", "hush-ldap-2\r\n"].enumerated() {
      fixture.host.queries.files["/etc/ldap"] = content
      let reply = try fixture.ask(#"{"refresh":true}"#)
      expect(reply.errorCode, equals: "BackendRejected")
      expect(reply.errorMessage?.contains("no: …") == true, "\(reply)")
      let run = try #require(fixture.host.commands.commands.last)
      expect(
        run.environment.map { "\($0.name)=\($0.value.exposedText() ?? "")" },
        equals: [
          "HOST=ldap.example.com", "PASSWORD=hush-ldap-\(number + 1)",
          "PATH=/usr/local/bin:/usr/bin:/bin",
        ])
      fixture.advance(by: .seconds(600))
    }
    expect(!"\(fixture.host.log.entries)".contains("hush"))
    fixture.host.queries.files["/etc/ldap"] = "\0"
    let runs = fixture.host.commands.commands.count
    let refused = try fixture.ask(#"{"refresh":true}"#)
    expect(
      refused.errorMessage?.contains("environment_file.PASSWORD /etc/ldap holds a NUL byte")
        == true,
      "\(refused)")
    expect(fixture.host.commands.commands.count, equals: runs)
  }
}
