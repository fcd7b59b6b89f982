import AuthCore
import AuthStore
import AuthTestSupport
import Foundation
import Testing

/// SQLite on a disk that is full.
@Suite(.serialized, .enabled(if: SmallDisk.isPossible, "takes root, to mount a small disk"))
struct FullDiskTests {
  private let now = Example.now
  private let trail = AuditTrail(chain: "cli", AuditNote("hostRevoked", [:], at: Example.now))

  private func withStore(
    _ body: (AuthStore, AuthCore.Configuration.Database, SmallDisk) async throws -> Void
  ) async throws {
    let disk = try SmallDisk(megabytes: 16)
    defer { disk.remove() }
    let place = AuthCore.Configuration.Database.sqlite(path: disk.path + "/auth.db")
    let store = try AuthStore(place)
    try await store.migrate()
    for number in 1...20 {
      try await store.enrol(try Example.host("web\(number)"), token: Example.ticket(.host))
    }
    try await body(store, place, disk)
    await store.close()
  }

  private func reserve(_ disk: SmallDisk) throws -> Int {
    let file = disk.path + "/auth.db.reserve"
    return try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0
  }

  /// What SQLite has room for already is written.
  private func writeUntilItIsFull(_ store: AuthStore) async throws -> StoreError? {
    for _ in 0..<1000 {
      let notes = (0..<100).map { AuditNote("token", ["n": "\($0)"], at: now) }
      do { try await store.commit(notes: notes, chain: "a", now: now) } catch {
        return error as? StoreError
      }
    }
    return nil
  }

  @Test func aHostIsRevokedAllTheSame() async throws {
    try await withStore { store, place, disk in
      #expect(try reserve(disk) == 4 << 20)
      try disk.fill()
      let full = StoreError.full(disk.path + "/auth.db")
      #expect(try await writeUntilItIsFull(store) == full)
      await #expect(throws: full) { try await store.checkWritable(now: now) }
      // By the server's own connection, and by an administrator's command.
      #expect(try await store.revoke(host: "web1", now: now, trail: trail))
      let command = try AuthStore(place, .change)
      try await command.checkSchema()
      // As long as callbacks take what is left over each time.
      for number in 2...12 {
        try disk.fill()
        #expect(try await writeUntilItIsFull(store) == full)
        #expect(try await command.revoke(host: "web\(number)", now: now, trail: trail))
      }
      await command.close()
      #expect(try await store.hosts().filter { $0.revoked != nil }.count == 12)
      #expect(try await store.verifyAudit(heads: []).faults.isEmpty)
      try disk.empty()
      try await store.checkWritable(now: now)
      await store.keepReserve()
      #expect(try reserve(disk) == 4 << 20)
    }
  }

  /// The server does not run: to open the database takes room too.
  @Test func aCommandOpensTheDatabase() async throws {
    try await withStore { store, place, disk in
      await store.close()
      try disk.fill()
      let command = try AuthStore(place, .change)
      try await command.checkSchema()
      #expect(try await command.revoke(host: "web1", now: now, trail: trail))
      await command.close()
    }
  }

  @Test func whatIsNeededElsewhereIsNotTaken() async throws {
    let disk = try SmallDisk(megabytes: 7)
    defer { disk.remove() }
    let store = try AuthStore(.sqlite(path: disk.path + "/auth.db"))
    try await store.migrate()
    #expect(try reserve(disk) == 0)
    await store.close()
  }
}
