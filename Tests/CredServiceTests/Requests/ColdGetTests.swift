import CredCore
import Foundation
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// The steps of docs/internals/architecture.md, "A cold get", watched at the seams. The page has these words.
struct ColdGetTests {
  static let steps = [
    "`SocketServer` reads bytes, `LineConnection` cuts a line",
    "`Router.route` finds the operation",
    "`Admittance.decide` asks for the caller",
    "The session comes from the table",
    "`SessionMachine.handle(.asked)` takes the caller as a waiter",
    "`SessionTable.handle` saves the session, and only then starts the call",
    "`UpstreamClient` waits for its turn in the `CallQueue` of the upstream endpoint",
    "The reply is read into an outcome",
    "The reply is rendered once, the audit is written",
    "`SocketServer` writes all replies",
  ]

  /// Checks that steps come in order, each once.
  private struct Walk {
    private(set) var taken = 0

    mutating func step(
      _ number: Int, _ title: String, _ location: SourceLocation = #_sourceLocation
    ) {
      taken += 1
      expect(number, equals: taken, sourceLocation: location)
      expect(ColdGetTests.steps[number - 1], equals: title, sourceLocation: location)
    }
  }

  @Test func coldGetTakesTheTenSteps() throws {
    let fixture = try ServiceFixture(Self.configuration)
    let (host, service) = (fixture.host, fixture.service)
    host.background.time[.users] = .milliseconds(10)
    host.upstreams.delays = [
      "token": .milliseconds(50), "GetCredentialsForIdentity": .milliseconds(50),
    ]
    var walk = Walk()

    walk.step(1, "`SocketServer` reads bytes, `LineConnection` cuts a line")
    let (client, other) = (fixture.connect(pid: 42), fixture.connect(pid: 43))
    client.sendOnly("{}")
    expect(service.figures.requests, equals: 1)
    expect(service.parsedRequests.request(for: Array("{}".utf8).span) != nil)

    walk.step(2, "`Router.route` finds the operation")
    expect(client.isWaiting && client.replies.isEmpty)

    walk.step(3, "`Admittance.decide` asks for the caller")
    expect(client.client?.waiting?.isForCaller == true)
    expect(host.background.asked, equals: [.users: 1])
    expect(service.sessions.isEmpty && host.trace.lines.isEmpty)
    host.advance(by: .milliseconds(10))
    expect(host.queries.asked, equals: [UserQuery(.uid(1000))])

    walk.step(4, "The session comes from the table")
    expect(host.trace.lines.first, equals: "identity of default")
    let session = try #require(service.sessions[SessionKey(uid: 1000, profile: "default")])
    expect(session.userName, equals: "alice")

    walk.step(5, "`SessionMachine.handle(.asked)` takes the caller as a waiter")
    expect(session.machine.waiterCount, equals: 1)
    let call = try #require(session.machine.awaitedCall)
    expect(client.client?.waiting?.session === session)

    walk.step(6, "`SessionTable.handle` saves the session, and only then starts the call")
    expect(Array(host.trace.lines.dropFirst()), equals: ["remove default", "send token"])
    expect(session.call?.id, equals: call)

    walk.step(7, "`UpstreamClient` waits for its turn in the `CallQueue` of the upstream endpoint")
    expect(fixture.upstream.callCount, equals: 1)
    expect(host.http.requests.first?.json?["DeveloperUserIdentifier"]?.text, equals: "alice")
    // A second client joins the call.
    other.send("{}")
    expect(session.machine.waiterCount == 2 && fixture.upstream.callCount == 1)

    walk.step(8, "The reply is read into an outcome")
    host.trace.clear()
    host.advance(by: .milliseconds(50))
    // Steps 6 and 7 once more, with the token that it now holds.
    expect(
      host.trace.lines, equals: ["reply token", "save default", "send GetCredentialsForIdentity"])
    expect(try #require(session.machine.awaitedCall) > call)
    expect(client.replies.isEmpty)

    walk.step(9, "The reply is rendered once, the audit is written")
    host.trace.clear()
    host.advance(by: .milliseconds(50))
    expect(host.trace.lines, equals: ["reply GetCredentialsForIdentity", "save default"])
    expect(try client.next().accessKeyID != nil)
    expect(client.replies, equals: other.replies)
    expect(host.log.messages.count { $0 == "credentials given" }, equals: 2)

    walk.step(10, "`SocketServer` writes all replies")
    // The service has handed each reply to its client's sink, once, and waits for nothing.
    expect(client.replies.count == 1 && !client.isWaiting && !other.isWaiting)
    expect(service.sessions.values.allSatisfy { $0.machine.waiterCount == 0 })
    expect(fixture.upstream.callCount, equals: 0)
    expect(walk.taken, equals: Self.steps.count)
  }

  @Test func `the page of the architecture has the same ten steps`() throws {
    let page = URL(filePath: #filePath).appending(
      path: "../../../../docs/internals/architecture.md"
    )
    .standardizedFileURL
    let lines = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n")
    let numbered = lines.filter { $0.contains(#/^[0-9]+\. /#) }
    expect(numbered.count, equals: Self.steps.count)
    for (index, (line, step)) in zip(numbered, Self.steps).enumerated() {
      expect(line.hasPrefix("\(index + 1). \(step)"), "\(line)")
    }
  }

  /// The user identifier makes the service ask for the user's name.
  private static let configuration =
    Configured.http() + Configured.profile("default", identifier: "{user}")
}
