import AuthCore
import Testing

struct AuditArchiveTests {
  private let key = ArchiveKey(Array(repeating: 7, count: 32))

  private func entries(_ chain: String, _ count: Int, after start: AuditHead? = nil) -> [AuditEntry]
  {
    var head = start ?? AuditHead(chain: chain)
    return (0..<count).map { index in
      let entry = AuditEntry(
        AuditNote("token", ["user": "ü\(index)\n"], at: Timestamp(milliseconds: Int64(index))),
        after: head)
      head = AuditHead(chain: chain, sequence: entry.sequence, hash: entry.hash)
      return entry
    }
  }

  private func lines(_ entries: [AuditEntry]) throws -> [[UInt8]] {
    var writer = try AuditArchiveWriter()
    var lines = [try writer.first(before: Timestamp(milliseconds: 1000))]
    for entry in entries { lines.append(try writer.line(entry)) }
    return lines + [try writer.last(try #require(key))]
  }

  private func read(
    _ lines: [[UInt8]], heads: [AuditHead] = [], keys: Set<String>? = nil
  ) throws -> (chains: [ArchivedChain], fault: String?) {
    var reader = AuditArchiveReader(heads: heads)
    for line in lines { reader.take(line.dropLast()) }
    let own = try #require(key).publicKey
    let chains = reader.finish(keys: keys ?? [own])
    return (chains, reader.fault)
  }

  @Test func whatWasWrittenIsRead() throws {
    let start = AuditHead(chain: "b", sequence: 5, hash: String(repeating: "a", count: 64))
    let (a, b) = (entries("a", 3), entries("b", 2, after: start))
    let (chains, fault) = try read(try lines(a + b))
    #expect(fault == nil)
    #expect(
      chains == [
        ArchivedChain(
          start: AuditHead(chain: "a"), end: AuditHead(chain: "a", sequence: 3, hash: a[2].hash)),
        ArchivedChain(start: start, end: AuditHead(chain: "b", sequence: 7, hash: b[1].hash)),
      ])
    #expect(chains[1].holds(AuditHead(chain: "b", sequence: 6)))
    #expect(!chains[1].holds(AuditHead(chain: "b", sequence: 8)))
    #expect(!chains[1].holds(AuditHead(chain: "a", sequence: 6)))
  }

  @Test func aChangedArchiveIsSeen() throws {
    let whole = try lines(entries("a", 4))
    for index in whole.indices {
      var changed = whole
      changed.remove(at: index)
      #expect(try read(changed).fault != nil, "without line \(index + 1)")
      for place in whole[index].indices.dropLast() {
        changed = whole
        changed[index][place] ^= 1
        #expect(try read(changed).fault != nil, "line \(index + 1), byte \(place)")
      }
    }
    #expect(try read(whole + [whole[1]]).fault == "line 7: it stands behind the signature")
    #expect(
      try read(Array(whole.dropLast())).fault == "it is cut off: its last line is no signature")
    #expect(try read([]).fault == "it is cut off: its last line is no signature")
  }

  /// Two readers would take either.
  @Test func aKeyThatStandsTwiceIsNoLine() throws {
    var twice = try lines(entries("a", 1))
    twice[1] = Array(#"{"event":"login","#.utf8) + twice[1].dropFirst()
    #expect(try read(twice).fault == "line 2: it is neither an entry nor a signature")
  }

  /// Whoever has no key can make all but the signature.
  @Test func anotherKeyIsNamed() throws {
    let fault = try read(try lines(entries("a", 1)), keys: []).fault
    #expect(fault?.contains(try #require(key).publicKey) == true)
  }

  @Test func theLogIsComparedWithAnArchiveToo() throws {
    let a = entries("a", 3)
    let good = AuditHead(chain: "a", sequence: 2, hash: a[1].hash)
    let wrong = AuditHead(chain: "a", sequence: 2, hash: String(repeating: "0", count: 64))
    #expect(try read(try lines(a), heads: [good]).fault == nil)
    #expect(try read(try lines(a), heads: [wrong]).fault?.hasPrefix("line 3: entry 2 of") == true)
  }

  @Test func aKeyIsOneLineOfItsFile() throws {
    var random = SystemRandomNumberGenerator()
    let text = ArchiveKey.file(&random)
    #expect(ArchiveKey(file: text)?.publicKey.count == 64)
    for wrong in ["", String(text.dropLast()), String(text.dropFirst(2)), "x" + text, text + "\n"] {
      #expect(ArchiveKey(file: wrong) == nil)
    }
  }
}
