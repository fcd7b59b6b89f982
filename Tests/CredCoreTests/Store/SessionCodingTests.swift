import SeededRandom
import TestSupport
import Testing

@testable import CredCore

/// Stored bytes that are not what they were.
struct SessionCodingTests {
  private var random: SeededGenerator { SeededGenerator(seed: 7) }

  private func bytes(_ story: SnapshotStory) throws -> [UInt8] {
    story.record(try fullProfile()).encoded
  }

  @Test(arguments: SnapshotStory.allCases)
  func everyTruncationIsAnError(_ story: SnapshotStory) throws {
    let bytes = try bytes(story)
    let read = (0..<bytes.count).filter { count in
      (try? SessionRecord(reading: bytes.prefix(count))) != nil
    }
    expect(read, equals: [])
  }

  /// Whatever is read of damaged bytes, nothing traps, then or later.
  @Test(arguments: SnapshotStory.allCases)
  func flippedBitsDoNoHarm(_ story: SnapshotStory) throws {
    let good = try bytes(story)
    let plan = story.session.machine.plan
    let now = story.session.now
    for index in stride(from: 0, to: good.count, by: TestRounds.isShort ? 10 : 1) {
      for bit in 0..<8 {
        var bytes = good
        bytes[index] ^= 1 << bit
        live(bytes, plan, now)
      }
    }
  }

  @Test func randomBytesDoNoHarm() throws {
    var random = random
    let plan = SessionPlan(backend: .host)
    let good = try SnapshotStory.allCases.map { try bytes($0) }
    for _ in 0..<TestRounds.of(20_000) {
      var bytes = good.randomElement(using: &random) ?? []
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        let place = Int.random(in: bytes.indices, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[place] = .random(in: .min ... .max, using: &random)
        case 1: bytes.insert(.random(in: .min ... .max, using: &random), at: place)
        case 2: bytes.replaceSubrange(place..., with: bytes[place...].map { _ in 0xFF })
        default: bytes.removeSubrange(place..<min(place + 9, bytes.count - 1))
        }
      }
      live(bytes, plan, .seconds(1000))
    }
  }

  /// A while in the life of a session that was read, if it was.
  private func live(_ bytes: [UInt8], _ plan: SessionPlan, _ now: Instant) {
    guard let record = try? SessionRecord(reading: bytes[...]) else { return }
    var random = random
    var callIDs = CallIDs()
    let again = try? SessionRecord(reading: record.encoded[...])
    expect(again, equals: record)
    var machine = SessionMachine(
      plan: plan, snapshot: record.snapshot, now: now, jitter: 0.5)
    _ = machine.handle(.timePassed, now: now, callIDs: &callIDs, random: &random)
    _ = machine.handle(
      .asked(
        Waiter(id: 1, want: .credentials, minimumLife: .seconds(1), arrived: now, wait: .zero)),
      now: now, callIDs: &callIDs, random: &random)
    _ = machine.handle(.timePassed, now: now + .seconds(1000), callIDs: &callIDs, random: &random)
    _ = (machine.nextWake, machine.nextRefresh, machine.snapshot.isWorthKeeping)
    _ = machine.handle(.loggedOut, now: now, callIDs: &callIDs, random: &random)
    expect(machine.credentials == nil)
  }

  @Test func fieldsOfANewerDaemonAreIgnored() throws {
    let record = SnapshotStory.byPassword.record(try fullProfile())
    var writer = SnapshotWriter()
    writer.field(200, "from the future")
    let newer = writer.bytes + record.encoded + writer.bytes
    expect(try SessionRecord(reading: newer[...]), equals: record)
  }

  @Test func fieldsOfANewerDaemonAreIgnoredInEveryGroup() throws {
    let record = SnapshotStory.throttled.record(try fullProfile())
    /// Adds an unknown field at the end of each group.
    func extended(_ bytes: ArraySlice<UInt8>, _ groups: Set<UInt8>, depth: Int) throws -> [UInt8] {
      var reader = SnapshotReader(bytes)
      var writer = SnapshotWriter()
      while let field = try reader.next() {
        let isGroup = groups.contains(field.tag)
        let inner: Set<UInt8> = depth == 0 ? [1, 3, 4, 5, 6, 13, 14] : []
        writer.field(
          field.tag,
          isGroup ? try extended(field.value, inner, depth: depth + 1) : Array(field.value)
        )
      }
      writer.field(201, Secret("more"))
      return writer.bytes
    }
    let newer = try extended(record.encoded[...], [6], depth: 0)
    expect(newer.count > record.encoded.count + 20)
    expect(try SessionRecord(reading: newer[...]), equals: record)
  }

  @Test func aFailureOfAnUnknownKindIsDroppedAlone() throws {
    var record = SnapshotStory.throttled.record(try fullProfile()).encoded
    let code = Array("Throttled".utf8)
    for start in record.indices.dropLast(code.count)
    where record[start..<(start + code.count)].elementsEqual(code) {
      record[start] = UInt8(ascii: "X")
    }
    let read = try SessionRecord(reading: record[...])
    expect(read.snapshot.lastFailure == nil)
    expect(read.snapshot.held.pause == nil)
    expect(read.snapshot.held.credentials != nil)
  }

  private func stored(_ message: String) throws -> UpstreamFailure? {
    var session = SessionDriver()
    session.ask()
    let failure = UpstreamFailure(
      upstream: .backend("corp"), failureClass: .transient(retryAfter: .seconds(40)),
      code: .backendUnavailable, message: message, severity: .operatorMustAct)
    session.finish(.failed(failure))
    session.forgetAll()
    let record = SessionRecord(
      uid: 1000, owner: .named("alice"), profile: try fullProfile(),
      snapshot: session.machine.snapshot)
    return try SessionRecord(reading: record.encoded[...]).snapshot.lastFailure?.failure
  }

  /// Also one with many letters that take several bytes.
  @Test func aKeptTextOfAnErrorIsWhole() throws {
    let words = String(repeating: "the role's trust must name this identity pool, ", count: 12)
    for message in [words + "and its users", String(repeating: "Übergröße ", count: 200)] {
      expect(try stored(message)?.message, equals: message)
    }
  }

  @Test func aTextThatIsTooLongEndsBehindAWord() throws {
    let message = String(repeating: "größer ", count: 1000)
    let kept = try #require(try stored(message)?.message)
    expect(kept.utf8.count <= Limits.Store.textBytes)
    expect(kept.hasSuffix("größer …"))
    expect(message.hasPrefix(kept.dropLast(2)))
    // One word of accents: a cut in the middle of one.
    let letters = "x" + String(repeating: "e\u{301}", count: 4000)
    expect(try stored(letters)?.message.hasPrefix("xe\u{301}"), equals: true)
  }

  @Test func lengthsAreBounded() throws {
    var writer = SnapshotWriter()
    writer.field(2, String(repeating: "p", count: Limits.Store.textBytes + 1))
    #expect(throws: SnapshotError.tooLong("profile")) {
      try SessionRecord(reading: writer.bytes[...])
    }
    let large = [UInt8](repeating: 0, count: Limits.Store.sessionBytes + 1)
    #expect(throws: SnapshotError.tooLong("session")) { try SessionRecord(reading: large[...]) }
  }
}
