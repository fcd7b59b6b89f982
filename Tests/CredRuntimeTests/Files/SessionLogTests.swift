import CredCore
import Glibc
import TestSupport
import Testing

@testable import CredRuntime
@testable import CredService

/// The log of sessions in a file in memory.
struct SessionLogTests {
  private let boot = [UInt8](repeating: 7, count: 16)

  private func key(_ uid: UInt32) -> SessionKey { SessionKey(uid: uid, profile: "p") }

  private func put(_ secret: String, _ uid: UInt32, in sessions: SessionLog) throws {
    try sessions.put(StoredSession.record(uid, secret).encoded, for: key(uid))
  }

  /// The same file as the next process gets it.
  private func reopened(_ sessions: SessionLog) throws -> (SessionLog, SessionLog.Loaded) {
    let head = try SessionLog.read(Int64(StoreHeader.byteCount), at: 0, from: sessions.descriptor)
    let again = SessionLog(
      descriptor: dup(sessions.descriptor), header: try StoreHeader(reading: head, boot: boot))
    return (again, try again.load())
  }

  /// All bytes of the file.
  private func bytes(_ sessions: SessionLog) throws -> [UInt8] {
    try SessionLog.read(1 << 26, at: 0, from: sessions.descriptor)
  }

  private func holds(_ sessions: SessionLog, _ secret: String) throws -> Bool {
    let text = try bytes(sessions)
    return text.indices.contains { text[$0...].starts(with: secret.utf8) }
  }

  @Test func `sessions are read back`() throws {
    let sessions = try SessionLog(boot: boot)
    for uid in 0..<50 as Range<UInt32> { try put("secret \(uid)", uid, in: sessions) }
    let (again, loaded) = try reopened(sessions)
    expect(loaded.damaged, equals: 0)
    expect(loaded.records.count, equals: 50)
    expect(loaded.records[key(49)], equals: try StoredSession.record(49, "secret 49"))
    expect(again.extents, equals: sessions.extents)
    expect(again.liveBytes, equals: sessions.liveBytes)
  }

  @Test func `a session's old record is gone, and the new one is there`() throws {
    let sessions = try SessionLog(boot: boot)
    try put("first-secret", 1, in: sessions)
    expect(try holds(sessions, "first-secret"))
    try put("second-secret", 1, in: sessions)
    expect(try !holds(sessions, "first-secret"))
    expect(
      try reopened(sessions).1.records[key(1)], equals: try StoredSession.record(1, "second-secret")
    )
  }

  @Test func `nothing stays of a session that is removed`() throws {
    let sessions = try SessionLog(boot: boot)
    try put("first-secret", 1, in: sessions)
    try put("other-secret", 2, in: sessions)
    sessions.remove(key(1))
    expect(try !holds(sessions, "first-secret"))
    expect(try reopened(sessions).1.records.keys.map(\.uid), equals: [2])
  }

  @Test func `the later of two records of one session counts, and the other is wiped`() throws {
    let sessions = try SessionLog(boot: boot)
    try put("first-secret", 1, in: sessions)
    let extent = try #require(sessions.extents[key(1)])
    let old = try SessionLog.read(extent.bytes, at: extent.offset, from: sessions.descriptor)
    try put("second-secret", 1, in: sessions)
    // Killed between the two writes.
    try SessionLog.write(old, at: extent.offset, to: sessions.descriptor)
    let (again, loaded) = try reopened(sessions)
    expect(loaded.records, equals: [key(1): try StoredSession.record(1, "second-secret")])
    expect(loaded.damaged, equals: 0)
    expect(try !holds(again, "first-secret"))
  }

  @Test(arguments: [1, 8, 20, 24, 30, 100, 200])
  func `a torn record costs itself alone, and leaves nothing`(_ length: Int) throws {
    let sessions = try SessionLog(boot: boot)
    try put("first-secret", 1, in: sessions)
    let extent = try #require(sessions.extents[key(1)])
    let frame = StoredRecord.frame(
      try StoredSession.record(2, "torn-secret").encoded, sequence: 9,
      marker: sessions.header.marker)
    try SessionLog.write(
      Array(frame.prefix(length)), at: extent.offset + extent.bytes, to: sessions.descriptor)
    let (again, loaded) = try reopened(sessions)
    expect(loaded.records.keys.map(\.uid), equals: [1])
    // A marker may begin with zeros, which are as if nothing were there.
    expect(loaded.damaged, equals: frame.prefix(length).allSatisfy { $0 == 0 } ? 0 : 1)
    expect(try bytes(again)[Int(extent.offset + extent.bytes)...].allSatisfy { $0 == 0 })
    // Later records go behind it.
    try put("later-secret", 3, in: again)
    expect(Set(try reopened(again).1.records.keys.map(\.uid)), equals: [1, 3])
  }

  @Test func `damage in the middle costs one session`() throws {
    let sessions = try SessionLog(boot: boot)
    for uid in 0..<3 as Range<UInt32> { try put("secret-\(uid)!", uid, in: sessions) }
    let extent = try #require(sessions.extents[key(1)])
    try SessionLog.write([0xAA], at: extent.offset + 60, to: sessions.descriptor)
    let (again, loaded) = try reopened(sessions)
    expect(Set(loaded.records.keys.map(\.uid)), equals: [0, 2])
    expect(loaded.damaged, equals: 1)
    expect(try !holds(again, "secret-1!"))
  }

  @Test func `a record that is whole and no session is dropped`() throws {
    let sessions = try SessionLog(boot: boot)
    try sessions.put(Array("no session".utf8), for: key(1))
    try put("secret", 2, in: sessions)
    let loaded = try reopened(sessions).1
    expect(loaded.records.keys.map(\.uid), equals: [2])
    expect(loaded.damaged, equals: 1)
  }

  @Test func `the file does not grow with what is gone`() throws {
    let sessions = try SessionLog(boot: boot)
    for uid in 0..<40 as Range<UInt32> { try put("never changes \(uid)", uid, in: sessions) }
    let rounds = TestRounds.isShort ? 300 : 800
    for round in 0..<rounds {
      for uid in 40..<60 as Range<UInt32> { try put("secret \(uid) \(round)", uid, in: sessions) }
    }
    expect(sessions.extents.count, equals: 60)
    expect(sessions.span <= 2 * sessions.liveBytes + SessionLog.slack + (1 << 16))
    // What a few records share pages with.
    var status = stat()
    expect(unsafe fstat(sessions.descriptor, &status), equals: 0)
    expect(Int64(status.st_blocks) * 512 <= sessions.span + 4 * Int64(sysconf(Int32(_SC_PAGESIZE))))
    expect(Int64(status.st_size) > 4 * sessions.span)
    let loaded = try reopened(sessions).1
    expect(loaded.damaged, equals: 0)
    expect(loaded.records[key(3)], equals: try StoredSession.record(3, "never changes 3"))
    expect(loaded.records[key(59)], equals: try StoredSession.record(59, "secret 59 \(rounds - 1)"))
    expect(loaded.records.count, equals: 60)
  }

  @Test func `the largest session is stored, and a larger one is an error`() throws {
    let sessions = try SessionLog(boot: boot)
    let largest = [UInt8](repeating: 1, count: Limits.Store.sessionBytes)
    try sessions.put(largest, for: key(1))
    #expect(throws: SystemError.self) { try sessions.put(largest + [1], for: key(1)) }
    // What was stored before is no longer so.
    expect(sessions.extents.isEmpty)
    expect(try bytes(sessions)[StoreHeader.byteCount...].allSatisfy { $0 == 0 })
  }

  @Test func `all sessions together have a limit`() throws {
    let sessions = try SessionLog(boot: boot)
    sessions.limit = 1500
    var stored: [UInt32] = []
    for uid in 0..<10 as Range<UInt32> {
      do {
        try put("secret", uid, in: sessions)
        stored.append(uid)
      } catch let error as SystemError {
        expect(error.number, equals: ENOSPC)
      }
    }
    expect((1..<10).contains(stored.count))
    sessions.remove(key(0))
    try put("secret", 20, in: sessions)
  }

  @Test func `many sessions are read across windows`() throws {
    let sessions = try SessionLog(boot: boot)
    let long = String(repeating: "x", count: 40_000)
    for uid in 0..<100 as Range<UInt32> { try put(long, uid, in: sessions) }
    let loaded = try reopened(sessions).1
    expect(loaded.records.count, equals: 100)
    expect(loaded.damaged, equals: 0)
  }
}
