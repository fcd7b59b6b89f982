import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Profiles that are for certain programs.
struct ExecutableTests {
  private func fixture() throws -> ServiceFixture {
    let fixture = try ServiceFixture(
      Configured.usual(profile: "allow_executables = /usr/bin/billing"))
    fixture.host.queries.executables[50] = .init(path: "/usr/bin/billing")
    fixture.host.queries.executables[51] = .init(path: "/usr/bin/other")
    return fixture
  }

  @Test func `the program decides, and is looked at once a minute`() throws {
    let fixture = try fixture()
    let (billing, other) = (fixture.connect(pid: 50), fixture.connect(pid: 51))
    for _ in 0..<3 {
      expect(try billing.ask("{}").accessKeyID != nil)
      expect(try other.ask("{}").errorCode, equals: "AccessDenied")
    }
    expect(fixture.host.background.asked[.programs], equals: 2)
    // Its process may run another program by then.
    fixture.host.queries.executables[50] = .init(path: "/usr/bin/other")
    fixture.advance(by: .seconds(60))
    expect(try billing.ask("{}").errorCode, equals: "AccessDenied")
  }

  @Test func `a process that may have ended meanwhile is not trusted`() throws {
    let fixture = try fixture()
    fixture.host.background.time[.programs] = .milliseconds(10)
    let client = fixture.connect(pid: 50)
    client.send("{}")
    client.isRunning = false
    fixture.advance(by: .milliseconds(10))
    expect(try client.next().errorCode, equals: "AccessDenied")
    // One that had ended before is not looked at.
    let ended = fixture.connect(pid: 50)
    ended.isRunning = false
    expect(try ended.ask("{}").errorCode, equals: "AccessDenied")
    expect(fixture.host.background.asked[.programs], equals: 1)
  }

  @Test func `a disk that hangs is a timeout after five seconds, and is asked again later`() throws
  {
    let fixture = try fixture()
    fixture.host.background.time[.programs] = .seconds(20)
    let client = fixture.connect(pid: 50)
    client.send(#"{"wait":30}"#)
    fixture.advance(by: ExecutableDirectory.timeout - .milliseconds(1))
    expect(client.isWaiting)
    fixture.advance(by: .milliseconds(1))
    let late = try client.next()
    expect(late.errorCode, equals: "Timeout")
    expect(late["Error"]?["RetryAfter"]?.double, equals: 5)
    // Nothing is known of the program, so nothing is said in the log.
    expect(!fixture.host.log.messages.contains { $0.hasPrefix("refused a caller") })
    fixture.host.background.time[.programs] = .zero
    expect(try client.ask("{}").errorCode, equals: "Timeout")
    fixture.advance(by: UserDirectory.failureKeptFor)
    expect(try client.ask("{}").accessKeyID != nil)
    fixture.advance(by: .seconds(20))
    expect(client.hasReadAll)
  }

  @Test func `a client that leaves while its program is looked at is forgotten`() throws {
    let fixture = try fixture()
    fixture.host.background.time[.programs] = .seconds(1)
    let client = fixture.connect(pid: 50)
    client.send("{}")
    client.leave()
    fixture.advance(by: .seconds(2))
    expect(client.replies.isEmpty)
    expect(fixture.service.sessions.isEmpty && fixture.service.clients.count == 0)
  }

  @Test func `where every thread hangs the answer comes at once`() throws {
    let fixture = try fixture()
    fixture.host.background.time[.programs] = .some(nil)
    for uid in 0..<UInt32(BackgroundLane.programs.width) {
      fixture.connect(uid: 2000 + uid, pid: 50).send("{}")
    }
    fixture.advance(by: ExecutableDirectory.timeout)
    let client = fixture.connect(pid: 50)
    client.send("{}")
    expect(try client.next().errorCode, equals: "Timeout")
  }

  // MARK: One user and the others

  @Test func `one user's programs that hang delay nobody else`() throws {
    let fixture = try fixture()
    fixture.host.background.time[.programs] = .some(nil)
    let hanging = (60..<80 as Range<Int32>).map { fixture.connect(pid: $0) }
    for client in hanging { client.send("{}") }
    expect(fixture.host.background.running(.programs), equals: ExecutableDirectory.threadsPerUser)
    fixture.host.background.time[.programs] = .milliseconds(1)
    let other = fixture.connect(uid: 1001, pid: 50)
    other.send("{}")
    fixture.advance(by: .milliseconds(1))
    expect(try other.next().accessKeyID != nil)
  }

  @Test func `a user's queue is bounded, and connections of one process are one question`() throws {
    let fixture = try fixture()
    fixture.host.background.time[.programs] = .milliseconds(1)
    // The process of these is looked at already; the next ones wait together.
    let first = (0..<100).map { _ in fixture.connect(pid: 50) }
    for client in first { client.send("{}") }
    let waiting = Limits.Client.queuedPrograms - 1
    let others = (100..<Int32(100 + waiting)).map { fixture.connect(pid: $0) }
    for client in others { client.send("{}") }
    expect(others.allSatisfy { $0.isWaiting })
    let refused = fixture.connect(pid: 51)
    refused.send("{}")
    expect(try refused.next().errorCode, equals: "TooManyRequests")
    // Another user's is not full.
    let other = fixture.connect(uid: 1001, pid: 50)
    other.send("{}")
    fixture.advance(by: .milliseconds(100))
    expect(try other.next().accessKeyID != nil)
    for client in first { expect(try client.next().accessKeyID != nil) }
    expect(try refused.ask("{}").errorCode, equals: "AccessDenied")
  }

  @Test func `questions of clients that are gone are dropped`() throws {
    let fixture = try fixture()
    fixture.host.background.time[.programs] = .milliseconds(10)
    let gone = (100..<120 as Range<Int32>).map { fixture.connect(pid: $0) }
    for client in gone { client.send("{}") }
    for client in gone { client.leave() }
    let client = fixture.connect(pid: 50)
    client.send("{}")
    fixture.advance(by: .milliseconds(30))
    expect(try client.next().accessKeyID != nil)
    expect(fixture.host.queries.inspected.count, equals: ExecutableDirectory.threadsPerUser + 1)
  }

  // MARK: Digests

  private static let digest = String(repeating: "a", count: 64)

  private func digestFixture(_ more: String = "") throws -> ServiceFixture {
    let fixture = try ServiceFixture(
      Configured.usual(profile: "allow_executables = /usr/bin/billing sha256:\(Self.digest)") + more
    )
    for pid in 50..<60 as Range<Int32> {
      fixture.host.queries.executables[pid] = .init(path: "/usr/bin/billing", sha256: Self.digest)
    }
    fixture.host.queries.executables[60] = .init(
      path: "/home/mallory/huge", sha256: String(repeating: "b", count: 64))
    return fixture
  }

  @Test func `only a file that the configuration names is hashed, and once`() throws {
    let fixture = try digestFixture()
    expect(try fixture.connect(pid: 60).ask("{}").errorCode, equals: "AccessDenied")
    // Nor is it for a profile that does not exist, for which every rule is looked at.
    expect(
      try fixture.connect(pid: 60).ask(#"{"profile":"none"}"#).errorCode, equals: "AccessDenied")
    expect(fixture.host.queries.hashed.isEmpty)
    expect(try fixture.connect(pid: 50).ask("{}").accessKeyID != nil)
    expect(try fixture.connect(uid: 1001, pid: 51).ask("{}").accessKeyID != nil)
    expect(fixture.host.queries.hashed, equals: [50])
    fixture.host.queries.executables[52] = .init(
      path: "/usr/bin/billing", sha256: String(repeating: "c", count: 64))
    expect(try fixture.connect(pid: 52).ask("{}").errorCode, equals: "AccessDenied")
    expect(fixture.host.queries.hashed, equals: [50, 52])
  }

  @Test func `processes that run the same file wait for one digest`() throws {
    let fixture = try digestFixture()
    fixture.host.background.time[.programs] = .milliseconds(100)
    let clients = (50..<60 as Range<Int32>).map { pid in
      fixture.connect(uid: 1000 + UInt32(pid % 2), pid: pid)
    }
    for client in clients { client.send("{}") }
    fixture.advance(by: .seconds(2))
    for client in clients { expect(try client.next().accessKeyID != nil) }
    expect(fixture.host.queries.hashed.count, equals: 1)
  }

  @Test func `a process that ends while its file is hashed fails no other`() throws {
    let fixture = try digestFixture()
    fixture.host.background.time[.programs] = .milliseconds(100)
    let (first, second) = (fixture.connect(pid: 50), fixture.connect(uid: 1001, pid: 51))
    first.send("{}")
    second.send("{}")
    fixture.advance(by: .milliseconds(150))
    fixture.host.queries.executables[50] = nil
    first.isRunning = false
    fixture.advance(by: .seconds(1))
    expect(try first.next().errorCode, equals: "AccessDenied")
    expect(try second.next().accessKeyID != nil)
    expect(fixture.host.queries.hashed, equals: [50, 51])
  }

  @Test func `a digest that comes late serves the next question`() throws {
    let fixture = try digestFixture()
    fixture.host.background.time[.programs] = .seconds(4)
    let client = fixture.connect(pid: 50)
    client.send("{}")
    fixture.advance(by: .seconds(9))
    expect(try client.next().errorCode, equals: "Timeout")
    fixture.host.background.time[.programs] = .zero
    fixture.advance(by: .seconds(5))
    expect(try client.ask("{}").accessKeyID != nil)
    expect(fixture.host.queries.hashed, equals: [50])
  }

  @Test func `a reload that names a file has it hashed at once`() throws {
    let fixture = try ServiceFixture(Configured.usual(profile: "allow_executables = /usr/bin/*"))
    fixture.host.queries.executables[50] = .init(path: "/usr/bin/billing", sha256: Self.digest)
    let client = fixture.connect(pid: 50)
    expect(try client.ask("{}").accessKeyID != nil)
    try fixture.reload(
      Configured.usual(profile: "allow_executables = /usr/bin/billing sha256:\(Self.digest)"))
    expect(try client.ask("{}").accessKeyID != nil)
    expect(fixture.host.queries.hashed, equals: [50])
  }
}
