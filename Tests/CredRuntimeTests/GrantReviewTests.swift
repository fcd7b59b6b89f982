import CredCore
import Glibc
import Testing

@testable import CredRuntime

/// Those who watch or wait ask nothing more; what they may is looked at again all the same.
struct GrantReviewTests {
  private static let me = UserDirectory.Question.uid(getuid(), withGroups: true)

  /// From now on the user database says that this user is in no group but these.
  private static func say(
    _ groups: [UInt32], _ service: SessionService, uid: UInt32 = getuid(), at time: Instant
  ) {
    let user = UserDirectory.User(uid: uid, name: "somebody", groups: groups)
    service.directory.note(.user(user), to: .uid(uid, withGroups: true), time)
  }

  @Test func `a membership that is withdrawn ends what watches and what waits`() throws {
    let fixture = try ServiceFixture("allow_groups = \(getgid())")
    let start = try fixture.run { $0.loop.now }
    try fixture.run { Self.say([getgid()], $0, at: start) }
    let (watcher, waiter) = (try fixture.connect(), try fixture.connect())
    watcher.send(#"{"op":"watch","profile":"default","id":7}"# + "\n")
    #expect(watcher.line()?.contains(#""Event":"state""#) == true)
    waiter.send(#"{"wait":300,"id":8}"# + "\n{}\n")
    #expect(
      try fixture.reaches { $0.sessions.values.contains { $0.machine.waiterCount == 1 } })
    // Withdrawn, and nobody has looked.
    let due = try fixture.run { service in
      Self.say([], service, at: start + .seconds(50))
      service.reviewGrants(start + .seconds(20))
      return service.nextReview
    }
    #expect(due <= start + .seconds(60))
    #expect(try fixture.run { $0.sessions.values.map(\.machine.waiterCount) } == [1])
    try fixture.run { $0.reviewGrants(due) }
    for (socket, id) in [(watcher, 7), (waiter, 8)] {
      let line = try #require(socket.line())
      #expect(line.contains("AccessDenied") && line.contains(#""Id":\#(id)"#), "\(line)")
    }
    // What comes next on these connections is refused too, as before.
    #expect(waiter.line()?.contains("AccessDenied") == true)
    try fixture.run { service in
      #expect(service.sessions.values.map(\.machine.waiterCount) == [0])
      #expect(service.watchers.isEmpty)
      #expect(service.nextReview == .distantFuture)
    }
  }

  @Test func `who is still a member goes on, and is looked at a minute later`() throws {
    let fixture = try ServiceFixture("allow_groups = \(getgid())")
    let start = try fixture.run { $0.loop.now }
    try fixture.run { Self.say([getgid()], $0, at: start) }
    let watcher = try fixture.connect()
    watcher.send(#"{"op":"watch","profile":"default"}"# + "\n")
    #expect(watcher.line()?.contains(#""Event":"state""#) == true)
    let next = try fixture.run { service in
      Self.say([getgid()], service, at: start + .seconds(50))
      service.reviewGrants(start + .seconds(61))
      return service.nextReview
    }
    #expect(next == start + .seconds(110))
    try fixture.run { service in
      Self.say([], service, at: start + .seconds(109))
      service.reviewGrants(next)
    }
    #expect(watcher.line()?.contains("AccessDenied") == true)
  }

  @Test func `what is unknown is looked up, and ends when it is known`() throws {
    let fixture = try ServiceFixture("allow_groups = \(getgid())")
    let start = try fixture.run { $0.loop.now }
    // The database never lists this group, but credd has seen it listed.
    try fixture.run { Self.say([getgid(), 4_000_000_000], $0, at: start) }
    let watcher = try fixture.connect()
    watcher.send(#"{"op":"watch","profile":"default"}"# + "\n")
    #expect(watcher.line()?.contains(#""Event":"state""#) == true)
    // Too old to count: the host's own database is asked, which knows this user's group.
    try fixture.run { $0.reviewGrants(start + .seconds(3600)) }
    #expect(try fixture.reaches { $0.nextReview < .distantFuture })
    #expect(try fixture.run { $0.watchers.count } == 1)
  }

  @Test func `a profile that is open to everyone is not looked at`() throws {
    let fixture = try ServiceFixture("")
    let watcher = try fixture.connect()
    watcher.send(#"{"op":"watch","profile":"default"}"# + "\n")
    #expect(watcher.line() != nil)
    #expect(try fixture.run { $0.nextReview } == .distantFuture)
  }

  @Test func `a member of the admin group who is one no more sees nobody else`() throws {
    let fixture = try ServiceFixture("", daemon: "admin_group = mail")
    let seen = try fixture.run { service -> [Bool?] in
      let mail = try #require(service.settings.adminGroup)
      let now = service.loop.now
      // The kernel goes on saying that the process has the group.
      let member = Connection(
        descriptor: -1, peer: Peer(uid: 4_000_000, gid: mail, pid: 0),
        user: UserShare(uid: 4_000_000), token: 1, accepted: now)
      Self.say([mail], service, uid: 4_000_000, at: now)
      let before = service.isAdmin(member, now)
      Self.say([], service, uid: 4_000_000, at: now)
      return [before, service.isAdmin(member, now)]
    }
    #expect(seen == [true, false])
  }
}
