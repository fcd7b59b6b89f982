import FoundationEssentials

/// One line of the audit. Each entry holds the hash of the entry before it. So nobody can change,
/// remove or insert an entry without changing the chain's end too.
public struct AuditEntry: Sendable, Equatable {
  public var chain: String
  /// From 1, without a gap.
  public var sequence: Int64
  public var time: Timestamp
  public var event: String
  /// JSON with sorted keys.
  public var detail: String
  public var previous: String
  public var hash: String

  public init(
    chain: String, sequence: Int64, time: Timestamp, event: String, detail: String,
    previous: String, hash: String
  ) {
    self.chain = chain
    self.sequence = sequence
    self.time = time
    self.event = event
    self.detail = detail
    self.previous = previous
    self.hash = hash
  }

  /// The entry behind the end of a chain.
  public init(_ note: AuditNote, after head: AuditHead) {
    self.init(
      chain: head.chain, sequence: head.sequence + 1, time: note.time, event: note.event,
      detail: note.detail, previous: head.hash, hash: "")
    hash = computedHash
  }

  /// The chain's end, as long as nothing comes after this entry.
  public var head: AuditHead { AuditHead(chain: chain, sequence: sequence, hash: hash) }

  /// One member of the detail.
  public func member(_ name: String) -> String? {
    try? JSONObject(Array(detail.utf8)).text(name)
  }

  /// SHA-256 over all members but the hash, each with its length, so that no two entries give the
  /// same bytes.
  public var computedHash: String {
    let members = [
      "credd-authserver audit 1", chain, String(sequence), String(time.milliseconds), event, detail,
      previous,
    ]
    return Hex.encode(Digest.sha256(each: members))
  }
}

/// The end of a chain.
public struct AuditHead: Sendable, Equatable {
  public var chain: String
  public var sequence: Int64
  public var hash: String

  public init(chain: String, sequence: Int64 = 0, hash: String = "") {
    self.chain = chain
    self.sequence = sequence
    self.hash = hash
  }

  /// `CHAIN:SEQUENCE:HASH`, as the log has it each hour and `audit verify --head` takes it.
  public var text: String { "\(chain):\(sequence):\(hash)" }

  public init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count >= 3, let sequence = Int64(parts[parts.count - 2]),
      // Not +7, nor 07.
      "\(sequence)" == parts[parts.count - 2], Hex.isHex(parts[parts.count - 1], count: 64)
    else { return nil }
    self.init(
      chain: parts.dropLast(2).joined(separator: ":"), sequence: sequence,
      hash: String(parts[parts.count - 1]))
  }
}

/// What happened, before it has its place in a chain.
public struct AuditNote: Sendable, Equatable {
  public var time: Timestamp
  public var event: String
  public let members: [String: String]

  /// Of the entry. Many notes are never written.
  public var detail: String {
    String(decoding: JSONObject.text(members.mapValues(\.visible)), as: UTF8.self)
  }

  public init(_ event: String, _ members: [String: String], at time: Timestamp) {
    self.time = time
    self.event = event
    self.members = members
  }
}

extension AuditNote {
  /// All events that there are: of the server, then of the commands.
  public static let events = [
    "hostRefused", "identityChanged", "identityIgnored", "login", "loginFailed", "loginsIgnored",
    "logout", "refused", "registered", "token", "tokenReused",
    "archived", "deviceRevoked", "hostChanged", "hostEnrolled", "hostGroupAdded",
    "hostGroupChanged", "hostGroupRemoved", "hostRevoked", "hostRotated", "invitationRevoked",
    "invited", "linked", "merged", "passwordSet", "unlinked", "userAdded", "userDeleted",
    "userDisabled", "userEnabled",
  ]

  /// How a member stands in an entry's detail.
  public static func member(_ name: String, _ value: String) -> String {
    // The detail of a note without other members, without its braces.
    String(
      AuditNote("", [name: value], at: Timestamp(milliseconds: 0)).detail.dropFirst().dropLast())
  }
}

extension String {
  /// A character that would move a terminal's cursor, or turn its letters round, stands as its
  /// number.
  public var visible: String {
    // As most texts are.
    guard !utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { return self }
    return unicodeScalars.map { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
        "\\u{" + String(scalar.value, radix: 16) + "}"
      default: String(scalar)
      }
    }.joined()
  }
}

/// Follows one chain from its start.
public struct AuditVerifier: Sendable {
  public private(set) var head: AuditHead
  public private(set) var fault: String?
  /// Heads that the chain must pass through: from the log, and the recorded end. Two heads of one
  /// place must be the same.
  private var expected: [Int64: Set<String>]

  /// - Parameter start: the last entry that is in an archive; nil if all entries are here.
  public init(chain: String, after start: AuditHead? = nil, heads: [AuditHead] = []) {
    head = start ?? AuditHead(chain: chain)
    expected = Dictionary(
      heads.filter { $0.chain == chain && $0.sequence > 0 }.map { ($0.sequence, [$0.hash]) },
      uniquingKeysWith: { $0.union($1) })
    if let start, let hashes = expected.removeValue(forKey: start.sequence), hashes != [start.hash]
    {
      fault = Self.differs(start.sequence, chain.visible)
    }
  }

  /// For messages: an archive can name any chain.
  private var shown: String { head.chain.visible }

  private static func differs(_ sequence: Int64, _ chain: String) -> String {
    "entry \(sequence) of chain \(chain) is not the one that the log, or the chain's recorded end, "
      + "names"
  }

  /// Takes the next entry. After the first fault it looks at nothing more.
  public mutating func take(_ entry: AuditEntry) {
    guard fault == nil else { return }
    let place = "entry \(entry.sequence) of chain \(shown)"
    if entry.sequence != head.sequence + 1 {
      fault = "entry \(head.sequence + 1) of chain \(shown) is missing"
    } else if entry.previous != head.hash {
      fault = "\(place) does not follow the one before it"
    } else if entry.hash != entry.computedHash {
      fault = "\(place) was changed"
    } else if let hashes = expected.removeValue(forKey: entry.sequence),
      hashes != [entry.hash]
    {
      fault = Self.differs(entry.sequence, shown)
    } else {
      head = AuditHead(chain: head.chain, sequence: entry.sequence, hash: entry.hash)
    }
  }

  /// Ends after the last entry.
  ///
  /// - Parameters:
  ///   - recorded: the end of the chain as the database keeps it beside the entries.
  ///   - isGrowing: whether entries were appended meanwhile. Then the end may have moved on, and
  ///     the earlier end is one of the heads.
  public mutating func finish(recorded: AuditHead?, isGrowing: Bool = false) {
    guard fault == nil else { return }
    let hasMovedOn = isGrowing && (recorded.map { $0.sequence > head.sequence } ?? false)
    if let recorded, recorded != head, !hasMovedOn {
      fault = "chain \(shown) ends at \(head.sequence), and should at \(recorded.sequence)"
    } else if let missing = expected.keys.filter({ $0 > head.sequence }).min() {
      fault = "entry \(missing) of chain \(shown), which the log names, is missing"
    }
  }

  /// Ends if the database keeps no end of the chain.
  public mutating func finishWithoutEnd() {
    guard fault == nil else { return }
    fault =
      head.sequence == 0
      ? "chain \(shown), which the log names, is gone"
      : "chain \(shown) has lost its recorded end"
  }
}
