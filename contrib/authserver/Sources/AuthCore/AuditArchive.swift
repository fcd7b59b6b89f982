import FoundationEssentials

/// Entries that were moved from the audit to a file. Each line is one JSON object. The first line
/// says what the file is. Then come the entries of each chain, in order. The last line signs all
/// lines before it.
enum AuditArchive {
  static let format = "credd-authserver audit 1"

  struct Header: Encodable {
    let archive: String
    let before: String
  }

  struct Line: Encodable {
    let chain: String
    let sequence: Int64
    let time: Int64
    let event: String
    let detail: String
    let previous: String
    let hash: String
  }

  struct Footer: Encodable {
    let entries: Int64
    let key: String
    let sha256: String
    let signature: String
  }

  /// What is signed.
  static func message(sha256: String) -> String { "\(format) archive\n\(sha256)\n" }

  static func line(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try Array(encoder.encode(value)) + [UInt8(ascii: "\n")]
  }
}

/// Makes the lines of an archive.
public struct AuditArchiveWriter {
  private let digest: RunningDigest
  public private(set) var entries: Int64 = 0
  /// The digest of all lines but the last, once the last line is made.
  public private(set) var sha256 = ""

  public struct NoMemory: Error {}

  public init() throws(NoMemory) {
    guard let digest = RunningDigest() else { throw NoMemory() }
    self.digest = digest
  }

  public func first(before time: Timestamp) throws -> [UInt8] {
    try counted(AuditArchive.Header(archive: AuditArchive.format, before: time.iso8601))
  }

  public mutating func line(_ entry: AuditEntry) throws -> [UInt8] {
    entries += 1
    return try counted(
      AuditArchive.Line(
        chain: entry.chain, sequence: entry.sequence, time: entry.time.milliseconds,
        event: entry.event, detail: entry.detail, previous: entry.previous, hash: entry.hash))
  }

  private func counted(_ value: some Encodable) throws -> [UInt8] {
    let line = try AuditArchive.line(value)
    digest.update(line)
    return line
  }

  public mutating func last(_ key: ArchiveKey) throws -> [UInt8] {
    sha256 = digest.finish()
    guard let signature = key.signature(of: AuditArchive.message(sha256: sha256)) else {
      throw NoMemory()
    }
    return try AuditArchive.line(
      AuditArchive.Footer(
        entries: entries, key: key.publicKey, sha256: sha256, signature: signature))
  }
}

/// What an archive holds of one chain: the entries behind `start`, up to `end`.
public struct ArchivedChain: Sendable, Equatable {
  public var start: AuditHead
  public var end: AuditHead

  public init(start: AuditHead, end: AuditHead) {
    self.start = start
    self.end = end
  }

  /// Whether the log's head lies within the archive, if the two were compared.
  public func holds(_ head: AuditHead) -> Bool {
    head.chain == start.chain && (start.sequence...end.sequence).contains(head.sequence)
  }
}

/// Follows an archive from its first line to its last.
public struct AuditArchiveReader {
  private let digest: RunningDigest?
  private let heads: [AuditHead]
  private var number = 0
  private var entries: Int64 = 0
  private var verifiers: [String: (start: AuditHead, verifier: AuditVerifier)] = [:]
  private var footer: AuditArchive.Footer?
  public private(set) var fault: String?

  /// - Parameter heads: ends of chains that the log has kept.
  public init(heads: [AuditHead] = []) {
    self.heads = heads
    digest = RunningDigest()
  }

  /// Takes the next line, without its end. After the first fault it looks at nothing more.
  public mutating func take(_ line: some Sequence<UInt8>) {
    guard fault == nil else { return }
    number += 1
    let bytes = Array(line)
    let object = try? JSONObject(bytes)
    if number == 1 {
      if (try? object?.text("archive")) != AuditArchive.format {
        fault = "line 1: this is no archive of the audit"
        return
      }
    } else if footer != nil {
      fault = "line \(number): it stands behind the signature"
    } else if let entry = object.flatMap({ try? AuditEntry($0) }) {
      take(entry)
    } else if let footer = object.flatMap({ try? AuditArchive.Footer($0) }) {
      self.footer = footer
      return
    } else {
      fault = "line \(number): it is neither an entry nor a signature"
    }
    digest?.update(bytes + [UInt8(ascii: "\n")])
  }

  private mutating func take(_ entry: AuditEntry) {
    entries += 1
    let chain = entry.chain
    let start = AuditHead(chain: chain, sequence: entry.sequence &- 1, hash: entry.previous)
    var (first, verifier) =
      verifiers[chain] ?? (start, AuditVerifier(chain: chain, after: start, heads: heads))
    verifier.take(entry)
    verifiers[chain] = (first, verifier)
    if let wrong = verifier.fault { fault = "line \(number): \(wrong)" }
  }

  /// Ends after the last line.
  ///
  /// - Parameter keys: the keys by which archives may be signed.
  public mutating func finish(keys: Set<String>) -> [ArchivedChain] {
    guard fault == nil else { return [] }
    guard let footer else {
      fault = "it is cut off: its last line is no signature"
      return []
    }
    if footer.entries != entries || footer.sha256 != digest?.finish() {
      fault = "it was changed: its lines are not those that were signed"
    } else if !ArchiveKey.isSignature(
      footer.signature, of: AuditArchive.message(sha256: footer.sha256), by: footer.key)
    {
      fault = "its signature is wrong"
    } else if !keys.contains(footer.key) {
      fault =
        "it is signed by the key \(footer.key.prefix(64)), which neither the audit names nor --key"
    }
    return verifiers.values.map { ArchivedChain(start: $0.start, end: $0.verifier.head) }
      .sorted { $0.start.chain < $1.start.chain }
  }
}

extension AuditEntry {
  /// A line of an archive.
  fileprivate init(_ line: JSONObject) throws(JSONObject.Invalid) {
    self.init(
      chain: try line.text("chain"), sequence: try line.integer("sequence"),
      time: Timestamp(milliseconds: try line.integer("time")), event: try line.text("event"),
      detail: try line.text("detail"), previous: try line.text("previous"),
      hash: try line.text("hash"))
  }
}

extension AuditArchive.Footer {
  fileprivate init(_ line: JSONObject) throws(JSONObject.Invalid) {
    self.init(
      entries: try line.integer("entries"), key: try line.text("key"),
      sha256: try line.text("sha256"), signature: try line.text("signature"))
  }
}
