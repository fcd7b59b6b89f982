import CredCore
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CredRuntime
@testable import CredService

/// Sessions in the descriptor store and IdentityIds in a file, as one store.
struct DurableSessionsTests {
  private let key = SessionKey(uid: 1, profile: "p")
  private let other = SessionKey(uid: 2, profile: "p")

  private func known() throws -> KnownIdentity {
    let line = "1\tp\talice\tus-east-1:1\t\t{user}\tus-east-1:2\tguest"
    return try #require(KnownIdentity(line: Array(line.utf8)[...]))
  }

  private func store(_ generation: UInt64 = 1) throws -> SessionLog {
    try SessionLog(boot: SessionStore.bootID(), generation: generation)
  }

  /// As the service manager passes a store to the next process.
  private func passed(_ sessions: SessionLog) -> PassedDescriptors.Named {
    PassedDescriptors.Named(descriptor: dup(sessions.descriptor), name: "sessions-a")
  }

  private func opened(
    _ sessions: SessionLog, identities: IdentityFile? = nil
  ) throws -> DurableSessions {
    try #require(
      DurableSessions(
        [passed(sessions)], identities: identities, log: Heard().logger, isWanted: true))
  }

  @Test func `what is saved is there for the next process, once`() throws {
    let sessions = try store()
    let first = try opened(sessions)
    expect(first.load().isEmpty)
    first.save(try StoredSession.record(1, "one"), for: key)
    first.save(try StoredSession.record(2, "two"), for: other)
    first.save(try StoredSession.record(1, "three"), for: key)
    let second = try opened(sessions)
    expect(
      second.load(),
      equals: [
        key: try StoredSession.record(1, "three"), other: try StoredSession.record(2, "two"),
      ])
    // Secrets are not kept beside the sessions.
    expect(second.load().isEmpty)
  }

  @Test func `what is removed is gone`() throws {
    let sessions = try store()
    let first = try opened(sessions)
    first.save(try StoredSession.record(1, "one"), for: key)
    first.remove(key)
    first.remove(other)
    expect(try opened(sessions).load().isEmpty)
  }

  @Test func `without a service manager and a state directory there is no store`() {
    expect(DurableSessions([], identities: nil, log: Heard().logger, isWanted: false) == nil)
  }

  @Test func `identities outlive the sessions, and their problem is told`() throws {
    let (folder, known, key, thread) = (
      try TemporaryFolder(), try known(), key, try LoopThread()
    )
    let problems: [String?] = try thread.run { loop in
      var problems: [String?] = []
      for path in [folder.path, folder.path + "/none"] {
        let clock = try SystemClock(loop: loop, log: Heard().logger)
        let file = IdentityFile(
          in: path, clock: clock, background: try ThreadBackground(loop: loop, log: Heard().logger),
          log: Heard().logger)
        let store = try #require(
          DurableSessions([], identities: file, log: Heard().logger, isWanted: false))
        // Without a descriptor store sessions last as long as the process.
        store.save(try StoredSession.record(1, "one"), for: key)
        expect(store.load().isEmpty)
        store.setIdentity(known, for: key)
        store.remove(key)
        expect(store.identity(for: key), equals: known)
        file.finish()
        problems.append(store.problem)
      }
      return problems
    }
    expect(problems[0] == nil)
    expect(problems[1]?.contains("No such file or directory") == true)
    expect(
      try String(contentsOfFile: folder.path + "/identities", encoding: .utf8).contains("alice"))
  }
}
