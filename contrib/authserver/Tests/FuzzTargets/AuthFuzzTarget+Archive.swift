import AuthCore
import Foundation
import FuzzTargets

/// A line of an archive, as Foundation reads it.
private struct SecondEntry: Decodable {
  let chain, event, detail, previous, hash: String
  let sequence, time: Int64

  var entry: AuditEntry {
    AuditEntry(
      chain: chain, sequence: sequence, time: Timestamp(milliseconds: time), event: event,
      detail: detail, previous: previous, hash: hash)
  }
}

extension AuthFuzzTarget {
  fileprivate static let archiveKey = ArchiveKey(Array(repeating: 7, count: 32))

  /// Only who has the key makes an archive that is accepted: it is as the writer writes what Foundation
  /// finds in it.
  func judgeArchive(_ bytes: [UInt8]) -> Verdict {
    guard let key = Self.archiveKey else { return .fault("no key") }
    var reader = AuditArchiveReader()
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    if lines.last?.isEmpty == true { lines.removeLast() }
    for line in lines { reader.take(line) }
    let chains = reader.finish(keys: [key.publicKey])
    if let fault = reader.fault { return .isPlain(fault) }
    guard let entries = Self.entries(lines.dropFirst().dropLast()),
      let written = try? Self.written(entries, header: lines[0], key)
    else { return .fault("Foundation does not read it") }
    return .all([
      .check(
        written.dropLast() == lines.dropLast().map { $0 + [] }, "its lines are not the writer's"),
      .check(
        chains.allSatisfy { chain in
          Self.fits(chain, entries.filter { $0.chain == chain.start.chain })
        },
        "its chains are others"), .accepted,
    ])
  }

  private static func entries(_ lines: some Sequence<ArraySlice<UInt8>>) -> [AuditEntry]? {
    try? lines.map { try JSONDecoder().decode(SecondEntry.self, from: Data($0)).entry }
  }

  private static func written(
    _ entries: [AuditEntry], header: ArraySlice<UInt8>, _ key: ArchiveKey
  ) throws -> [[UInt8]] {
    let members = try JSONDecoder().decode([String: String].self, from: Data(header))
    let before = members["before"].flatMap { Timestamp(iso8601: $0) }
    var writer = try AuditArchiveWriter()
    var lines = [try writer.first(before: before ?? Timestamp(milliseconds: 0))]
    for entry in entries { lines.append(try writer.line(entry)) }
    lines.append(try writer.last(key))
    return lines.map { $0.dropLast() }
  }

  private static func fits(_ chain: ArchivedChain, _ entries: [AuditEntry]) -> Bool {
    let pairs = zip(entries, entries.dropFirst())
    return entries.first?.previous == chain.start.hash && entries.last?.hash == chain.end.hash
      && chain.end.sequence - chain.start.sequence == entries.count
      && pairs.allSatisfy { $1.previous == $0.hash && $1.sequence == $0.sequence + 1 }
  }
}

extension Dice {
  mutating func archive() -> [UInt8] {
    guard let key = AuthFuzzTarget.archiveKey, var writer = try? AuditArchiveWriter() else {
      return []
    }
    var lines = [try? writer.first(before: Timestamp(milliseconds: 1_700_000_000_000))]
    for chain in ["a", "é:1", "\u{1B}[2J"].prefix(number(3) + 1) {
      var head = AuditHead(chain: chain)
      if once(in: 2) {
        head = AuditHead(chain: chain, sequence: Int64(number(99)), hash: text("09af", 64...64))
      }
      for index in 0..<number(4) {
        let note = AuditNote(
          "token", ["user": pick(Self.oddTexts)], at: Timestamp(milliseconds: Int64(index)))
        let entry = AuditEntry(note, after: head)
        head = entry.head
        if !once(in: 40) { lines.append(try? writer.line(entry)) }
      }
    }
    if !once(in: 16) { lines.append(try? writer.last(key)) }
    if once(in: 16) { lines.swapAt(number(lines.count), number(lines.count)) }
    return lines.flatMap { $0 ?? [] }
  }
}
