import AuthCore
import Foundation
import FuzzTargets

extension AuthFuzzTarget {
  /// Lines: a name, patterns, and a host's name.
  func judgeNames(_ bytes: [UInt8]) -> Verdict {
    let lines = String(decoding: bytes, as: UTF8.self).split(
      separator: "\n", maxSplits: 2, omittingEmptySubsequences: false
    ).map(String.init)
    let (name, host) = (lines[0], lines.count > 2 ? lines[2] : "h")
    return .all([
      judgeIdentifier(name), judgeRegistered(name),
      lines.count > 1 ? judgePatterns(lines[1], name, host) : .refused,
    ])
  }

  private func judgeIdentifier(_ text: String) -> Verdict {
    guard let user = try? Identifier(text) else { return .refused }
    let folded = Identifier.fold(text)
    let isAccount = ["account:", "sample:"].contains { text.utf8.starts(with: $0.utf8) }
    return .all([
      .isPlain(text),
      .check(user.text.utf8.elementsEqual(text.utf8), "another text"),
      .check(
        text.utf8.elementsEqual((user.kind.prefix + user.name).utf8), "a name apart from its text"),
      .check((user.kind == .vouched) != isAccount, "of another kind"),
      .check(isAccount || user.uniqueKey == "=" + text, "another's key: \(user.uniqueKey)"),
      .check(
        text.utf8.elementsEqual(text.precomposedStringWithCanonicalMapping.utf8),
        "it is not composed"),
      .check(Identifier.fold(folded).utf8.elementsEqual(folded.utf8), "folded twice it is another"),
      .check(
        !isAccount
          && !["account:", "sample:"].contains { text.lowercased().utf8.starts(with: $0.utf8) }
          || isAccount, "it looks like an account's"),
      .accepted,
    ])
  }

  /// Who registers comes back as the same user, alone and by the folded name.
  private func judgeRegistered(_ name: String) -> Verdict {
    let kinds: [(Identifier.Kind, Bool)] = [(.account, false), (.sample, false), (.account, true)]
    return .all(
      kinds.map { kind, isShared in
        guard let user = try? Identifier(registering: name, as: kind, shared: isShared) else {
          return .refused
        }
        let folded = try? Identifier(
          registering: Identifier.fold(name), as: kind, shared: isShared)
        return .all([
          .check(user.uniqueKey.utf8.first != UInt8(ascii: "="), "a vouched name's key"),
          .check(isShared || (try? Identifier(user.text)) == user, "read as another user"),
          .check(folded.map { $0.uniqueKey == user.uniqueKey } ?? true, "two users of one name"),
          .accepted,
        ])
      })
  }

  private func judgePatterns(_ text: String, _ name: String, _ host: String) -> Verdict {
    guard let patterns = try? Patterns(text) else { return .refused }
    let covers = patterns.cover(name, host: host)
    return .all([
      .check(Patterns(stored: patterns.text).words == patterns.words, "stored as others"),
      .check(
        covers == patterns.words.contains { Self.covers($0, name, host) },
        "a name is covered, by one reading"),
      .check(
        !covers || patterns.cover(name, host: host, folded: true), "folding takes a name away"),
    ])
  }

  /// By a table of every prefix of the pattern and of the name.
  private static func covers(_ pattern: String, _ name: String, _ host: String) -> Bool {
    // Nil is a star, and an empty set is one character of any kind.
    var tokens: [Set<UInt32>?] = []
    for (index, part) in pattern.components(separatedBy: "{host}").enumerated() {
      if index > 0 { tokens += host.unicodeScalars.map { [$0.value] } }
      tokens += part.unicodeScalars.map { $0 == "*" ? nil : $0 == "?" ? [] : [$0.value] }
    }
    let scalars = name.unicodeScalars.map(\.value)
    var row = [true] + scalars.map { _ in false }
    for token in tokens {
      var next = [token == nil && row[0]] + scalars.map { _ in false }
      for (index, scalar) in scalars.enumerated() {
        next[index + 1] =
          token.map { row[index] && ($0.isEmpty || $0.contains(scalar)) }
          ?? (row[index + 1] || next[index])
      }
      row = next
    }
    return row[scalars.count]
  }

  /// What has one form is read from that alone: written, it is the same text.
  func judgeTexts(_ bytes: [UInt8]) -> Verdict {
    let text = String(decoding: bytes, as: UTF8.self)
    let tickets = [Ticket.Kind.host, .session, .invitation].compactMap { Ticket(text, $0)?.text }
    let written: [String] =
      tickets + [AuditHead(text)?.text, Timestamp(iso8601: text)?.iso8601].compactMap(\.self)
    // A leap second is the next minute's first.
    if !text.hasSuffix(":60Z"),
      let wrong = written.first(where: { !$0.utf8.elementsEqual(text.utf8) })
    {
      return .fault("read from another spelling: \(wrong)")
    }
    let network = IPNetwork(text)
    let address = IPAddress(text)
    return .all([
      .check(tickets.count < 2, "a ticket of two kinds"),
      .check(
        address.map { IPAddress($0.description) == $0 && network?.contains($0) == true } ?? true,
        "an address apart from its text"),
      .check(
        Interval(text).map { $0.milliseconds >= 0 && Lifetime(text) != nil }
          ?? (Lifetime(text) == nil),
        "an interval"),
      .check(
        CognitoSyntax.isID(text)
          == (text.wholeMatch(of: /[\w-]+:[0-9a-f-]+/.asciiOnlyWordCharacters()) != nil
            && text.utf8.count <= 55),
        "an IdentityId or none"),
      written.isEmpty && network == nil && Interval(text) == nil && !CognitoSyntax.isID(text)
        ? .refused : .accepted,
    ])
  }
}

extension Dice {
  private static let names = [
    "alice", "svc-a", "é", "Straße", "STRA\u{1E9E}E", "account:bob", "sample:x", "a b", "\u{3164}",
    "ﬁ",
    "İ", "ſ", "Σς", "\u{1F600}", "e\u{301}", "web1-x", "Account:a", "\u{301}a",
  ]

  mutating func nameAndPattern() -> String {
    let parts = ["alice", "*", "?", "{host}", "-", "svc", "é", " ", ",", "ß", "b"]
    let pattern =
      (0..<number(6)).map { _ in pick(parts) }.joined() + (once(in: 16) ? pick(Self.oddTexts) : "")
    let name = once(in: 4) ? pick(Self.names) + pick(Self.oddTexts) : pick(Self.names)
    return "\(name)\n\(pattern)\n\(pick(["web1", "*", "é", "h"]))"
  }

  mutating func shortText() -> String {
    let hex = "0123456789abcdef"
    switch number(7) {
    case 0: return "\(pick(["crh1", "crs1", "cri1"]))_\(text(hex, 16...16))_\(text(hex, 64...64))"
    case 1:
      return "\(pick(["a", "h:p", ""])):\(pick(["7", "+7", "07", "-1"])):\(text(hex, 64...64))"
    case 2:
      return pick([
        "2026-01-02T03:04:05Z", "2024-02-29T23:59:59Z", "1969-12-31T23:59:59Z",
        "2026-13-01T00:00:00Z",
      ])
    case 3:
      return pick([
        "192.0.2.1", "::1", "::ffff:10.0.0.1", "2001:DB8::0:1", "10.0.0.0/8", "::/0",
        "192.0.2.1/24",
      ])
    case 4: return pick(["15m", "90d", "30s", "12", "0", "999999999d", "m", "1w"])
    case 5: return "us-east-1:" + text(hex + "-", 1...46)
    default: return text("_:/.-+TZ09afé", 0...30)
    }
  }
}
