import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Lines in, replies out: what is parsed, what is remembered, and what is answered at once.
struct LineProtocolTests {
  @Test func `a pipeline is answered in order, and nothing before a request that waits`() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.delays["token"] = .milliseconds(100)
    let client = fixture.connect()
    for line in [#"{"op":"ping","id":1}"#, #"{"id":2}"#, #"{"op":"ping","id":3}"#] {
      client.send(line)
    }
    expect(client.replies.map { $0["Id"]?.integer }, equals: [1])
    fixture.advance(by: .milliseconds(100))
    expect(client.replies.map { $0["Id"]?.integer }, equals: [1, 2, 3])
    expect(client.replies[1].accessKeyID != nil)
  }

  @Test func `a bad line gets an error with its id, and the client goes on`() throws {
    let fixture = try ServiceFixture()
    let client = fixture.connect()
    let bad = try client.ask(#"{"op":"nothing","id":"a"}"#)
    expect(bad.errorCode == "UnknownOperation" && bad["Id"]?.text == "a")
    expect(try client.ask("no JSON").errorCode, equals: "InvalidRequest")
    expect(try client.ask(#"{"op":"ping"}"#)["Daemon"]?["Pid"]?.integer, equals: 7)
    expect(fixture.service.figures.requests, equals: 3)
  }

  @Test func `ping says what the daemon offers`() throws {
    let reply = try ServiceFixture().ask(#"{"op":"ping"}"#)
    expect(reply["Protocol"]?.integer, equals: 2)
    guard case .array(let operations)? = reply["Operations"],
      case .array(let features)? = reply["Features"]
    else { return expect(Bool(false), "\(reply)") }
    expect(operations.contains { $0.text == "get" } && operations.contains { $0.text == "ping" })
    for feature in [
      "purpose", "status.limit", "status.after", "status.profiles", "status.listeners",
      "watch.challenge", "error.kind", "error.reason",
    ] { expect(features.contains { $0.text == feature }, "\(feature)") }
  }

  // MARK: purpose

  @Test func `a purpose goes to the journal, from the cache too`() throws {
    let fixture = try ServiceFixture()
    let line = #"{"purpose":"nightly backup"}"#
    for pid in [42, 43, 44] as [Int32] { _ = try fixture.connect(pid: pid).ask(line) }
    _ = try fixture.connect(pid: 45).ask("{}")
    let given = fixture.host.log.entries.filter { $0.message == "credentials given" }
    expect(
      given.map { $0["purpose"] },
      equals: ["nightly backup", "nightly backup", "nightly backup", nil])
  }

  @Test(arguments: ["", String(repeating: "a", count: 129), "a\\nb", "caf\u{E9}"])
  func `a purpose is short and printable`(_ purpose: String) throws {
    let reply = try ServiceFixture().ask(#"{"op":"ping","id":1,"purpose":"\#(purpose)"}"#)
    expect(reply.errorCode, equals: "InvalidRequest")
    expect(reply["Id"]?.integer, equals: 1)
  }

  // MARK: The cache of parsed requests

  @Test func `a line that was sent before is not parsed again`() throws {
    let fixture = try ServiceFixture()
    let line = #"{"op":"identity","profile":"default"}"#
    let span = Array(line.utf8)
    expect(fixture.service.parsedRequests.request(for: span.span) == nil)
    _ = try fixture.ask(line)
    expect(fixture.service.parsedRequests.request(for: span.span) != nil)
    expect(try fixture.ask(line, uid: 1001).state, equals: "signedOut")
  }

  @Test func `a line with a secret or an id is not remembered`() throws {
    let fixture = try ServiceFixture(Configured.password())
    let lines = [
      #"{"op":"login","username":"alice","password":"alice-password"}"#, #"{"op":"ping","id":1}"#,
      "no JSON",
    ]
    for line in lines {
      _ = try fixture.ask(line)
      expect(fixture.service.parsedRequests.request(for: Array(line.utf8).span) == nil)
    }
  }

  // MARK: The cached answer

  @Test func `the second get of a client is answered from the cache`() throws {
    let fixture = try ServiceFixture()
    let client = fixture.connect()
    let first = try client.ask("{}")
    let second = try client.ask("{}")
    expect(client.client?.cachedAnswer != nil)
    let third = try client.ask("{}")
    expect(first == second && second == third)
    expect(fixture.host.http.requests.count, equals: 2)
    expect(fixture.service.figures.requests, equals: 3)
  }

  @Test func `another client of the user may have the cached answer, another user may not`() throws
  {
    let fixture = try ServiceFixture()
    let client = fixture.connect()
    let own = try (0..<2).map { _ in try client.ask("{}") }
    let next = fixture.connect(pid: 77)
    expect(next.client?.user.cachedAnswer != nil)
    expect(try next.ask("{}"), equals: own[0])
    let other = fixture.connect(uid: 1001)
    expect(other.client?.user.cachedAnswer == nil)
    expect(try other.ask("{}").accessKeyID != own[0].accessKeyID)
  }

  @Test func `the cached answer ends when the refresh is due`() throws {
    let fixture = try ServiceFixture()
    let client = fixture.connect()
    let first = try client.ask("{}")
    expect(try client.ask("{}"), equals: first)
    fixture.host.upstreams.delays["token"] = .seconds(1)
    // In use, so it is renewed after half of its life, with 10 % of jitter.
    fixture.advance(by: .seconds(1981))
    let renewed = try client.ask("{}")
    expect(renewed.accessKeyID != nil && renewed != first)
  }

  @Test func `the cached answer ends with the decision that the client may have it`() throws {
    let fixture = try ServiceFixture(Configured.usual(profile: "allow_groups = mail"))
    fixture.host.queries.setGroups([8], of: 1000)
    let client = fixture.connect(groups: [8])
    for _ in 0..<3 { expect(try client.ask("{}").accessKeyID != nil) }
    fixture.host.queries.setGroups([], of: 1000)
    // Only known when it is looked up anew.
    expect(try client.ask("{}").accessKeyID != nil)
    fixture.advance(by: .seconds(60))
    // The first look-up that misses the group is not believed.
    expect(try client.ask("{}").accessKeyID != nil)
    fixture.advance(by: UserDirectory.missingFor)
    expect(try client.ask("{}").errorCode, equals: "AccessDenied")
  }

  @Test func `an answer that rests on the client's groups serves this client alone`() throws {
    let fixture = try ServiceFixture(Configured.usual(profile: "allow_groups = mail"))
    fixture.host.queries.setGroups([8], of: 1000)
    let member = fixture.connect(groups: [8])
    for _ in 0..<3 { expect(try member.ask("{}").accessKeyID != nil) }
    // A process of the same user that was started without the group.
    expect(try fixture.ask("{}").errorCode, equals: "AccessDenied")
  }

  @Test func `a cached answer is audited once for each process and each refresh`() throws {
    let fixture = try ServiceFixture()
    func given() -> Int { fixture.host.log.messages.count { $0 == "credentials given" } }
    let client = fixture.connect(pid: 50)
    for _ in 0..<5 { _ = try client.ask("{}") }
    expect(given(), equals: 1)
    let next = fixture.connect(pid: 51)
    for _ in 0..<5 { _ = try next.ask("{}") }
    expect(given(), equals: 2)
    fixture.advance(by: .seconds(60))
    _ = try client.ask(#"{"refresh":true}"#)
    for _ in 0..<5 { _ = try client.ask("{}") }
    expect(given(), equals: 3)
  }

  @Test func `a loop of processes does not fill the audit, and status knows the last one`() throws {
    let fixture = try ServiceFixture()
    for pid in Int32(100)..<140 { _ = try fixture.connect(pid: pid).ask("{}") }
    expect(fixture.host.log.messages.count { $0 == "credentials given" }, equals: 20)
    let session = try fixture.status()
    expect(session?["LastCaller"]?["Pid"]?.integer, equals: 139)
  }

  @Test func `a line of another form takes the long way to the same answer`() throws {
    let fixture = try ServiceFixture()
    let client = fixture.connect()
    let first = try client.ask("{}")
    _ = try client.ask("{}")
    expect(try client.ask(#"{"op":"get"}"#), equals: first)
    let withID = try client.ask(#"{"id":9}"#)
    expect(withID.accessKeyID == first.accessKeyID && withID["Id"]?.integer == 9)
    expect(try client.ask("{}"), equals: first)
  }
}
