import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// What `check` may take from other requests, and how much of it there may be.
struct CheckLimitTests {
  private static let check = #"{"op":"check"}"#

  private static func check(_ number: Int) -> String { #"{"op":"check","profile":"p\#(number)"}"# }

  private static func profiles(_ count: Int) -> String {
    Configured.http() + (0..<count).map { Configured.profile("p\($0)") }.joined()
  }

  /// Requests that only look whether a server answers.
  private func questions(_ fixture: ServiceFixture) -> Int {
    fixture.host.http.requests.count { $0.method == .get }
  }

  private func details(_ reply: Reply) -> [String: String] {
    guard case .array(let steps) = reply["Steps"] else { return [:] }
    return Dictionary(
      steps.map { ($0["Name"]?.text ?? "", $0["Detail"]?.text ?? "") }, uniquingKeysWith: { $1 })
  }

  // MARK: Turns

  @Test func aQuestionHasItsTurnAmongTheCallsToTheServer() throws {
    let fixture = try ServiceFixture(Configured.usual(backend: "max_parallel = 1"))
    fixture.host.upstreams.delays["token"] = .seconds(1)
    let other = fixture.connect(uid: 1001)
    other.send("{}")
    let client = fixture.connect()
    client.send(Self.check)
    expect(fixture.host.upstreams.calls("token") == 1 && questions(fixture) == 0)
    fixture.advance(by: .seconds(2))
    expect(try other.next().accessKeyID != nil)
    expect(try client.next()["Ok"]?.bool == true)
    expect(questions(fixture), equals: 2)
  }

  @Test func aQuestionCountsAgainstTheRate() throws {
    let fixture = try ServiceFixture(Configured.usual(backend: "rate_limit = 6/m"))
    let began = fixture.now
    expect(try fixture.ask(Self.check)["Ok"]?.bool == true)
    expect(try fixture.ask(#"{"wait":30}"#, uid: 1001).accessKeyID != nil)
    expect(fixture.now - began >= .seconds(9))
  }

  /// A server whose calls take long keeps a check from no other server, and no longer than a while.
  @Test func aServerThatCannotBeAskedInTimeIsNamed() throws {
    let fixture = try ServiceFixture(Configured.usual(backend: "rate_limit = 1/m"))
    expect(try fixture.ask(uid: 1001).accessKeyID != nil)
    let began = fixture.now
    let reply = try fixture.ask(Self.check)
    expect(reply["Ok"]?.bool == false)
    let details = details(reply)
    expect(details["backend corp"]?.contains("was not asked") == true, "\(reply.text)")
    expect(details["cognito-identity"]?.hasPrefix("reachable") == true)
    expect(fixture.now - began < .seconds(20))
    expect(fixture.upstream.callCount, equals: 0)
  }

  @Test func aCheckOfManyDeadServersIsAnsweredInTime() throws {
    var text = ""
    for number in 0..<20 {
      text += "[backend b\(number)]\ntype = http\nurl = http://127.0.0.1:\(number + 1)/token\n"
      text += Configured.profile("p\(number)").replacing(
        "backend = corp", with: "backend = b\(number)")
    }
    let fixture = try ServiceFixture(text)
    fixture.host.http.answer = { _ in .silence }
    let began = fixture.now
    let reply = try fixture.ask(#"{"op":"check","all":true}"#, uid: 0)
    expect(fixture.now - began < .seconds(115))
    let details = details(reply)
    expect(details.count, equals: 21, "\(reply.text)")
    let skipped = details.values.count { $0.contains("was not asked") }
    expect(skipped, equals: 2, "\(reply.text)")
  }

  @Test func aClientThatLeavesAsksNoFurtherServer() throws {
    let fixture = try ServiceFixture(Configured.usual(backend: "max_parallel = 1"))
    fixture.host.upstreams.delays["token"] = .seconds(1)
    let other = fixture.connect(uid: 1001)
    other.send("{}")
    let client = fixture.connect()
    client.send(Self.check)
    client.leave()
    fixture.advance(by: .seconds(30))
    expect(try other.next().accessKeyID != nil)
    expect(questions(fixture) == 0 && fixture.upstream.callCount == 0)
  }

  @Test func atTheEndOfTheDaemonNoFurtherServerIsAsked() throws {
    let fixture = try ServiceFixture()
    fixture.host.http.holds = true
    let client = fixture.connect()
    client.send(Self.check)
    fixture.service.dismissWaiters()
    expect(try client.next().errorCode, equals: "ShuttingDown")
    fixture.host.http.deliver()
    fixture.advance(by: .seconds(30))
    expect(questions(fixture) == 1 && fixture.upstream.callCount == 0)
  }

  // MARK: Numbers

  /// Each server that is asked counts as a call that the user causes.
  @Test func whatAUserAsksIsLimitedAsItsOtherCallsAre() throws {
    let fixture = try ServiceFixture(Self.profiles(40))
    let refusals = try (0..<40).compactMap { try fixture.ask(Self.check($0)).errorMessage }
    expect(refusals.count, equals: 10, "\(refusals.count)")
    expect(refusals.allSatisfy { $0.contains("too many upstream calls") }, "\(refusals)")
    expect(questions(fixture), equals: 60)
  }

  @Test func oneUserHasFewChecksUnderWay() throws {
    let fixture = try ServiceFixture(Self.profiles(5))
    fixture.host.http.holds = true
    let clients = (0..<5).map { _ in fixture.connect() }
    for (number, client) in clients.enumerated() { client.send(Self.check(number)) }
    expect(clients.map(\.isWaiting), equals: [true, true, true, true, false])
    let refused = try clients[4].next()
    expect(refused.errorCode, equals: "TooManyRequests")
    expect(refused.errorMessage, equals: "4 checks of this user are under way")
    let other = fixture.connect(uid: 1001)
    other.send(Self.check(4))
    expect(other.isWaiting)
    // A check that has ended makes room.
    clients[0].leave()
    let next = fixture.connect()
    next.send(Self.check(4))
    expect(next.isWaiting)
  }

  @Test func fewChecksAreUnderWayOnAHost() throws {
    let fixture = try ServiceFixture(Self.profiles(4))
    fixture.host.http.holds = true
    var clients: [TestClient] = []
    for uid in 1...9 as ClosedRange<UInt32> {
      for number in 0..<4 {
        clients.append(fixture.connect(uid: uid))
        clients.last?.send(Self.check(number))
      }
    }
    expect(clients.count(where: \.isWaiting), equals: Limits.Check.underWay)
    expect(
      try clients[Limits.Check.underWay].next().errorMessage,
      equals: "32 checks are under way on this host")
  }

  @Test func theChecksThatAreRememberedAreLimited() throws {
    let fixture = try ServiceFixture(Self.profiles(1))
    let ids = CallIDs()
    func remember(_ number: Int, of uid: UInt32) {
      var ids = ids
      fixture.service.owners.checks.remembered[SessionKey(uid: uid, profile: "past\(number)")] =
        CheckRun(
          began: fixture.now, client: .max, call: ids.next())
    }
    for number in 0..<Limits.Check.rememberedOfUser { remember(number, of: 1000) }
    let own = try fixture.ask(Self.check(0))
    expect(own.errorMessage, equals: "this user has checked 64 profiles within a minute")
    expect(try fixture.ask(Self.check(0), uid: 1001)["Ok"] != nil)
    for number in 0..<Limits.Check.remembered { remember(number, of: 2000) }
    let refused = try fixture.ask(Self.check(0), uid: 1002)
    expect(refused.errorMessage, equals: "4096 profiles were checked on this host within a minute")
    expect(refused["Error"]?["RetryAfter"] != nil, "\(refused.text)")
    fixture.advance(by: .seconds(61))
    expect(try fixture.ask(Self.check(0))["Ok"] != nil)
    expect(fixture.service.owners.checks.remembered.count, equals: 1)
  }

  /// A check that lasts longer than its pause is remembered until it ends.
  @Test func aCheckThatIsUnderWayIsNotForgotten() throws {
    let fixture = try ServiceFixture(
      Configured.usual().replacing("timeout = 2s", with: "timeout = 30s"))
    _ = try fixture.ask()
    fixture.advance(by: .seconds(120))
    fixture.host.upstreams.delays["127.0.0.1"] = .seconds(9)
    fixture.host.upstreams.delays["127.0.0.1:4599"] = .seconds(9)
    fixture.host.upstreams.delays["token"] = .seconds(29)
    fixture.host.upstreams.delays["GetCredentialsForIdentity"] = .seconds(9)
    let client = fixture.connect()
    client.send(Self.check)
    fixture.advance(by: .seconds(44))
    expect(client.isWaiting)
    expect(try fixture.ask(Self.check).errorMessage, equals: "a check of this profile is under way")
    fixture.advance(by: .seconds(20))
    expect(try client.next()["Ok"]?.bool == true)
  }
}
