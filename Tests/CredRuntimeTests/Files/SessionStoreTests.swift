import CredCore
import Glibc
import TestSupport
import Testing

@testable import CredRuntime
@testable import CredService

/// Which of the passed files is used.
struct SessionStoreTests {
  private let key = SessionKey(uid: 1, profile: "p")

  private func sessions(_ secret: String, generation: UInt64) throws -> SessionLog {
    let sessions = try SessionLog(boot: SessionStore.bootID(), generation: generation)
    try sessions.put(try StoredSession.record(1, secret).encoded, for: key)
    return sessions
  }

  private func passed(_ sessions: SessionLog, _ name: String) -> PassedDescriptors.Named {
    PassedDescriptors.Named(descriptor: dup(sessions.descriptor), name: name)
  }

  private func isEmpty(_ sessions: SessionLog) throws -> Bool {
    try SessionLog.read(1 << 20, at: 0, from: sessions.descriptor).allSatisfy { $0 == 0 }
  }

  @Test(arguments: [(1, 2), (2, 1)] as [(UInt64, UInt64)])
  func `of two the newer is used, and the other wiped`(_ first: UInt64, _ second: UInt64) throws {
    let (one, two) = (
      try sessions("first", generation: first), try sessions("second", generation: second)
    )
    let heard = Heard()
    let opened = SessionStore.open(
      [passed(one, "sessions-a"), passed(two, "sessions-b")], log: heard.logger, isWanted: true)
    expect(opened.store != nil)
    let newer = first > second ? "first" : "second"
    expect(opened.records, equals: [key: try StoredSession.record(1, newer)])
    expect(try isEmpty(one), equals: (second > first))
    expect(try isEmpty(two), equals: (first > second))
    expect(heard.warnings.isEmpty)
  }

  @Test func `one that cannot be used is wiped and said once`() throws {
    let sessions = try sessions("secret", generation: 1)
    try SessionLog.write([1, 2, 3], at: 20, to: sessions.descriptor)
    let heard = Heard()
    let opened = SessionStore.open(
      [passed(sessions, "sessions-a")], log: heard.logger, isWanted: true)
    expect(opened.records.isEmpty)
    expect(opened.store?.count, equals: 0)
    expect(heard.warnings.count, equals: 1)
    expect(try isEmpty(sessions))
  }

  @Test func `a former daemon's store without a boot id is used, and marked with this boot`() throws
  {
    let boot = try #require(SessionStore.bootID())
    let sessions = try SessionLog(boot: [UInt8](repeating: 0, count: 16))
    try sessions.put(try StoredSession.record(1, "secret").encoded, for: key)
    let heard = Heard()
    let opened = SessionStore.open(
      [passed(sessions, "sessions-a")], log: heard.logger, isWanted: true)
    expect(opened.records, equals: [key: try StoredSession.record(1, "secret")])
    expect(heard.warnings.isEmpty)
    let written = try SessionLog.read(16, at: 16, from: sessions.descriptor)
    expect(written, equals: boot)
  }

  @Test func `without a service manager there is none`() {
    let opened = SessionStore.open([], log: Heard().logger, isWanted: false)
    expect(opened.store == nil && opened.records.isEmpty)
  }
}
