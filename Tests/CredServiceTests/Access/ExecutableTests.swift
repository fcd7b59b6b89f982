import CredCore
import Testing

@testable import CredService

/// Profiles that are for certain programs.
struct ExecutableTests {
  private func fixture() throws -> ServiceFixture {
    let fixture = try ServiceFixture(
      Configured.usual(profile: "allow_executables = /usr/bin/billing"))
    fixture.host.queries.executables[50] = .executable(.init(path: "/usr/bin/billing"))
    fixture.host.queries.executables[51] = .executable(.init(path: "/usr/bin/other"))
    return fixture
  }

  @Test func `the program decides, and is looked at once a minute`() throws {
    let fixture = try fixture()
    let (billing, other) = (fixture.connect(pid: 50), fixture.connect(pid: 51))
    for _ in 0..<3 {
      #expect(try billing.ask("{}").accessKeyID != nil)
      #expect(try other.ask("{}").errorCode == "AccessDenied")
    }
    #expect(fixture.host.background.asked[.programs] == 2)
    // Its process may run another program by then.
    fixture.host.queries.executables[50] = .executable(.init(path: "/usr/bin/other"))
    fixture.advance(by: .seconds(60))
    #expect(try billing.ask("{}").errorCode == "AccessDenied")
  }

  @Test func `a process that may have ended meanwhile is not trusted`() throws {
    let fixture = try fixture()
    fixture.host.background.time[.programs] = .milliseconds(10)
    let client = fixture.connect(pid: 50)
    client.send("{}")
    client.isRunning = false
    fixture.advance(by: .milliseconds(10))
    #expect(try client.next().errorCode == "AccessDenied")
    // One that had ended before is not looked at.
    let ended = fixture.connect(pid: 50)
    ended.isRunning = false
    #expect(try ended.ask("{}").errorCode == "AccessDenied")
    #expect(fixture.host.background.asked[.programs] == 1)
  }

  @Test func `a disk that hangs is a refusal after five seconds, and a late answer is dropped`()
    throws
  {
    let fixture = try fixture()
    fixture.host.background.time[.programs] = .seconds(20)
    let client = fixture.connect(pid: 50)
    client.send(#"{"wait":30}"#)
    fixture.advance(by: ExecutableDirectory.timeout - .milliseconds(1))
    #expect(client.isWaiting)
    fixture.advance(by: .milliseconds(1))
    #expect(try client.next().errorCode == "AccessDenied")
    fixture.advance(by: .seconds(20))
    #expect(client.hasReadAll)
    #expect(try client.ask("{}").errorCode == "AccessDenied")
  }

  @Test func `a client that leaves while its program is looked at is forgotten`() throws {
    let fixture = try fixture()
    fixture.host.background.time[.programs] = .seconds(1)
    let client = fixture.connect(pid: 50)
    client.send("{}")
    client.leave()
    fixture.advance(by: .seconds(2))
    #expect(client.replies.isEmpty)
    #expect(fixture.service.sessions.isEmpty && fixture.service.clients.isEmpty)
  }

  @Test func `where every thread hangs the answer comes at once`() throws {
    let fixture = try fixture()
    fixture.host.background.time[.programs] = .some(nil)
    for pid in 60..<Int32(60 + BackgroundLane.programs.width) {
      fixture.connect(pid: pid).send("{}")
    }
    fixture.advance(by: ExecutableDirectory.timeout)
    let client = fixture.connect(pid: 50)
    client.send("{}")
    #expect(try client.next().errorCode == "AccessDenied")
  }
}
