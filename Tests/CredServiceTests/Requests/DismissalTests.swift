import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Clients that wait while the daemon stops: each request is answered once, whatever comes first.
struct DismissalTests {
  enum Step: CaseIterable {
    /// The daemon stops.
    case dismissal
    /// The upstream answers the call under way.
    case outcome
    /// The client's wait is over.
    case deadline
    /// The client asks again, in another profile.
    case nextRequest
    /// The client disconnects.
    case leaving
    /// The profile that the client waits in is removed.
    case removal
  }

  private static let both =
    Configured.usual() + Configured.profile("second", identifier: "bob")
  private static let onlySecond =
    Configured.http() + Configured.profile("second", identifier: "bob")

  /// Every order of every choice of four steps.
  private static let orders: [[Step]] = {
    var orders: [[Step]] = []
    func extend(_ order: [Step]) {
      if order.count == 4 { return orders.append(order) }
      for step in Step.allCases where !order.contains(step) { extend(order + [step]) }
    }
    extend([])
    return orders.filter { $0.contains(.dismissal) }
  }()

  @Test func everyRequestIsAnsweredOnceInEveryOrder() throws {
    for order in Self.orders { try check(order) }
    expect(Self.orders.count, equals: 240)
  }

  private func check(_ order: [Step]) throws {
    let fixture = try ServiceFixture(Self.both)
    fixture.host.upstreams.delays["token"] = .seconds(1)
    let client = fixture.connect()
    let identities = [
      fixture.host.upstreams.identity(of: "alice"), fixture.host.upstreams.identity(of: "bob"),
    ]
    client.send(#"{"op":"token","wait":30,"id":0}"#)
    var asked = 1
    var isThere = true
    for step in order {
      switch step {
      case .dismissal: fixture.service.dismissWaiters()
      case .outcome: fixture.advance(by: .milliseconds(1100))
      case .deadline: fixture.advance(by: .seconds(31))
      case .nextRequest where isThere:
        client.send(#"{"op":"token","profile":"second","wait":30,"id":1}"#)
        asked = 2
      case .nextRequest: break
      case .leaving:
        isThere = false
        client.leave()
      case .removal: try fixture.reload(Self.onlySecond)
      }
    }
    // The last moment of a daemon.
    fixture.service.dismissWaiters()
    fixture.advance(by: .seconds(600))
    let ids = client.replies.map { $0["Id"]?.integer }
    let comment: Comment = "\(order): \(client.replies)"
    expect(ids, equals: (0..<Int64(ids.count)).map { $0 }, comment)
    if isThere { expect(ids.count, equals: asked, comment) }
    expect(!client.isWaiting, comment)
    for (index, reply) in client.replies.enumerated() where reply.errorCode == nil {
      expect(reply["IdentityId"]?.text, equals: identities[index], comment)
    }
    expect(fixture.service.sessions.values.allSatisfy { $0.machine.waiterCount == 0 }, comment)
    expect(fixture.service.clients.users.values.allSatisfy { $0.waitingSessions.isEmpty }, comment)
  }

  /// Those behind a request that waits are answered, too.
  @Test func everyRequestThatWasSentAheadIsAnsweredOnce() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.delays["token"] = .seconds(1)
    let client = fixture.connect()
    for id in 0..<6 { client.send(#"{"wait":30,"id":\#(id)}"#) }
    expect(client.replies.isEmpty)
    fixture.service.dismissWaiters()
    fixture.advance(by: .milliseconds(1))
    // The first is answered. The second waits, as the upstream may answer until the end.
    expect(client.replies.count == 1 && client.isWaiting)
    fixture.service.endWaits()
    fixture.advance(by: .milliseconds(1))
    expect(client.replies.map { $0["Id"]?.integer }, equals: (0..<6).map { $0 as Int64? })
    expect(client.replies.allSatisfy { $0.errorCode == "ShuttingDown" })
    expect(fixture.service.sessions.values.allSatisfy { $0.machine.waiterCount == 0 })
    fixture.advance(by: .seconds(600))
    expect(client.replies.count, equals: 6)
  }

  /// The refusal says that the request may be made again, so nothing of it has been done.
  @Test func whatActsUpstreamIsNotBegunAtTheEnd() throws {
    let (fixture, pool) = try ServiceFixture.ofUserPool(
      Configured.userPool(backend: "account_actions = forgot-password get\n"))
    try fixture.signInAtPool()
    fixture.service.endWaits()
    let handle = String(repeating: "0", count: 32)
    for request in [
      #""login","username":"bob","password":"bob-password""#,
      #""respond","handle":"\#(handle)","answers":{"code":"1"}"#, #""account","action":"get""#,
      #""account","action":"forgot-password","username":"bob""#, #""logout","global":true"#,
      #""check","profile":"default""#,
    ] {
      let reply = try fixture.ask(#"{"op":"# + request + "}")
      expect(reply.errorCode, equals: "ShuttingDown", "\(request): \(reply)")
    }
    expect(pool.operations, equals: [])
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
  }

  @Test func whatIsCachedIsGivenUntilTheEnd() throws {
    let fixture = try ServiceFixture()
    let credentials = try fixture.ask()
    fixture.service.endWaits()
    expect(try fixture.ask(), equals: credentials)
  }

  /// The sign-in goes on, and its outcome is kept; its answer goes to nobody else.
  @Test func aSignInThatWasDismissedAnswersNoLaterRequest() throws {
    let fixture = try ServiceFixture(Configured.password())
    fixture.host.upstreams.delays["login"] = .seconds(2)
    let client = fixture.connect()
    client.send(#"{"op":"login","username":"alice","password":"alice-password","id":1}"#)
    fixture.service.dismissWaiters()
    expect(try client.next().errorCode, equals: "ShuttingDown")
    client.send(#"{"op":"token","wait":20,"id":2}"#)
    fixture.advance(by: .seconds(3))
    let token = try client.next()
    expect(token["Token"] != nil && token["Id"]?.integer == 2, "\(token)")
    expect(client.hasReadAll)
    // Another password may be tried: none is under way.
    client.send(#"{"op":"login","username":"alice","password":"wrong","id":3}"#)
    fixture.advance(by: .seconds(3))
    expect(try client.next().errorCode, equals: "SignInFailed")
  }

  /// The client's next request in the same session has its own time.
  @Test func aWaitThatWasDismissedEndsNoLaterOne() throws {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.delays["token"] = .milliseconds(1500)
    let client = fixture.connect()
    client.send(#"{"op":"token","wait":1,"id":1}"#)
    fixture.service.dismissWaiters()
    expect(try client.next().errorCode, equals: "ShuttingDown")
    client.send(#"{"op":"token","wait":20,"id":2}"#)
    fixture.advance(by: .milliseconds(1200))
    expect(client.hasReadAll && client.isWaiting)
    fixture.advance(by: .seconds(1))
    let token = try client.next()
    expect(token["Token"] != nil && token["Id"]?.integer == 2, "\(token)")
  }

  @Test func aGlobalSignOutThatWasDismissedAnswersNoLaterOne() throws {
    let fixture = try ServiceFixture(
      Configured.password() + Configured.profile("second", identifier: "bob"))
    fixture.host.upstreams.delays["logout"] = .seconds(1)
    let client = fixture.connect()
    client.send(#"{"op":"logout","global":true,"id":1}"#)
    fixture.service.dismissWaiters()
    expect(try client.next().errorCode, equals: "ShuttingDown")
    fixture.advance(by: .milliseconds(500))
    client.send(#"{"op":"logout","profile":"second","global":true,"id":2}"#)
    fixture.advance(by: .milliseconds(600))
    // The first one's end says nothing about the second.
    expect(client.hasReadAll && client.isWaiting)
    fixture.advance(by: .seconds(1))
    let second = try client.next()
    expect(second["Profile"]?.text == "second" && second["Id"]?.integer == 2, "\(second)")
  }
}
