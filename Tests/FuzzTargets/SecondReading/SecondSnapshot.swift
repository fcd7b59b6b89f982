import CredCore

/// The second reading of a stored session: every value by the path of its tags, as docs/state.md and
/// the tags say. Equal sessions have equal values, whatever the order of their fields.
struct SecondSnapshot: Equatable {
  /// A value, or what is wrong with it.
  private struct Unreadable: Error {}

  private(set) var values: [String: String] = [:]

  /// Nil for bytes that are no session.
  init?(_ bytes: [UInt8]) {
    guard bytes.count <= 1 << 20 else { return nil }
    do {
      try readRecord(bytes)
    } catch {
      return nil
    }
  }

  /// Without the field the owner is unknown; an empty name is none.
  var owner: SessionOwner {
    values["3"].map { $0.isEmpty ? .nameless : .named($0) } ?? .unknown
  }

  /// The fields of a list: one byte of tag, four of length, the value.
  static func fields(_ bytes: [UInt8]) -> [(tag: Int, value: [UInt8])]? {
    var rest = bytes[...]
    var fields: [(tag: Int, value: [UInt8])] = []
    while let tag = rest.popFirst() {
      let head = Array(rest.prefix(4))
      guard head.count == 4 else { return nil }
      let length = head.reversed().reduce(0) { $0 * 256 + Int($1) }
      rest = rest.dropFirst(4)
      guard rest.count >= length else { return nil }
      fields.append((Int(tag), Array(rest.prefix(length))))
      rest = rest.dropFirst(length)
    }
    return fields
  }

  // MARK: Values

  private func list(_ bytes: [UInt8]) throws -> [(tag: Int, value: [UInt8])] {
    guard let fields = Self.fields(bytes) else { throw Unreadable() }
    return fields
  }

  private func text(_ value: [UInt8]) throws -> String {
    guard value.count <= 4096, let text = String(validating: value, as: UTF8.self) else {
      throw Unreadable()
    }
    return text
  }

  private func secret(_ value: [UInt8], most: Int = 262_144) throws -> String {
    guard value.count <= most else { throw Unreadable() }
    return "\(value)"
  }

  private func word(_ value: [UInt8]) throws -> Int64 {
    guard value.count == 8 else { throw Unreadable() }
    return Int64(bitPattern: value.reversed().reduce(0) { $0 << 8 | UInt64($1) })
  }

  private func byte(_ value: [UInt8]) throws -> UInt8 {
    guard value.count == 1 else { throw Unreadable() }
    return value[0]
  }

  private func count(_ value: [UInt8]) throws -> String {
    let count = try word(value)
    guard count >= 0, count < 1 << 62 else { throw Unreadable() }
    return "\(count)"
  }

  // MARK: Record and session

  private mutating func readRecord(_ bytes: [UInt8]) throws {
    for field in try list(bytes) {
      switch field.tag {
      case 1, 4, 5, 7: values["\(field.tag)"] = "\(UInt64(bitPattern: try word(field.value)))"
      case 2, 3: values["\(field.tag)"] = try text(field.value)
      case 6:
        values = values.filter { !$0.key.hasPrefix("6.") }
        try readSession(field.value)
      default: break
      }
    }
    guard let uid = values["1"].flatMap({ UInt64($0) }), uid <= UInt64(UInt32.max),
      values["4"] != nil, values["5"] != nil, values["6.9"] != nil,
      SecondRules.isProfileName(values["2"] ?? "")
    else { throw Unreadable() }
  }

  private mutating func readSession(_ bytes: [UInt8]) throws {
    var session: [String: String] = ["10": "0", "11": "0", "12": "\(1_000_000_000)"]
    var logins: [(provider: String, token: [UInt8])] = []
    var ends: [String: String] = [:]
    var ended: [String: String] = [:]
    for field in try list(bytes) {
      let tag = "\(field.tag)"
      switch field.tag {
      case 1: session[tag] = try state(field.value)
      case 2, 18:
        session[tag] = try text(field.value)
        guard SecondRules.isIdentityID(session[tag] ?? "") else { throw Unreadable() }
      case 3: logins.append(try login(field.value))
      case 4:
        let (provider, end) = try expiration(field.value)
        ends[provider] = end
        guard ends.count <= 11 else { throw Unreadable() }
      case 5: session[tag] = try token(field.value)
      case 6: session[tag] = try credentials(field.value)
      case 7, 8: session[tag] = try text(field.value)
      case 9: session[tag] = "\(try word(field.value))"
      case 10, 11: session[tag] = try count(field.value)
      case 12: session[tag] = "\(min(max(try word(field.value), 1_000_000_000), 300_000_000_000))"
      case 13: session[tag] = try failure(field.value, isPause: true)
      case 14: session[tag] = try failure(field.value, isPause: false)
      case 15, 19: session[tag] = "\(try byte(field.value) != 0)"
      case 16: session[tag] = try providerSession(field.value)
      case 17:
        let (provider, subject) = try endedLogin(field.value)
        // Of more than twenty the first one goes.
        if ended[provider] == nil, ended.count >= 20, let first = ended.keys.min() {
          ended[first] = nil
        }
        ended[provider] = subject
      default: break
      }
    }
    guard session["1"] != nil, session["9"] != nil, logins.count <= 10,
      Set(logins.map(\.provider)).count == logins.count, logins.allSatisfy(Self.isLogin)
    else { throw Unreadable() }
    // The identity of a client's token is withheld from backends in any case.
    let isOfToken = session["1"] == "3 2" || session["1"] == "4 2"
    let isWithheld = session["15"] == "true" || isOfToken && session["2"] != nil
    session["15"] = "\(isWithheld && !(isOfToken && session["2"] == nil))"
    let isOfGuest = session["19"] == "true" && session["2"] != nil && session["6"] == nil
    session["19"] = "\(isOfGuest)"
    session["3"] = "\(logins)"
    session["4"] = "\(ends.sorted { $0.key < $1.key })"
    // They belong to an identity: the session's, or the last one while it has none.
    if session["2"] != nil { session["18"] = nil }
    if session["2"] == nil, session["18"] == nil { ended = [:] }
    session["17"] = "\(ended.sorted { $0.key < $1.key })"
    for (tag, value) in session { values["6.\(tag)"] = value }
  }

  private func endedLogin(_ bytes: [UInt8]) throws -> (String, String) {
    var (provider, subject): (String?, String?)
    for field in try list(bytes) {
      if field.tag == 1 { provider = try text(field.value) }
      if field.tag == 2 { subject = try text(field.value) }
    }
    guard let provider else { throw Unreadable() }
    return (provider, subject.map { "=\($0)" } ?? "nil")
  }

  private static func isLogin(_ login: (provider: String, token: [UInt8])) -> Bool {
    let scalars = login.provider.unicodeScalars
    let characters = login.token.filter { $0 & 0xC0 != 0x80 }.count
    return (1...128).contains(scalars.count)
      && scalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
      && !login.provider.contains("://") && !login.token.isEmpty && characters <= 50_000
  }

  // MARK: Groups

  private func state(_ bytes: [UInt8]) throws -> String {
    var (kind, method): (UInt8?, UInt8?)
    var (session, name, pool): (String?, String?, String?)
    for field in try list(bytes) {
      switch field.tag {
      case 1: kind = try byte(field.value)
      case 2: method = try byte(field.value)
      case 3: session = try secret(field.value)
      case 4: name = try text(field.value)
      case 5: pool = try providerSession(field.value)
      default: break
      }
    }
    guard let kind, kind <= 4 else { throw Unreadable() }
    guard kind >= 3 else { return "\(kind)" }
    guard let method, method <= 5, method != 1 || session != nil, method != 5 || pool != nil
    else { throw Unreadable() }
    if method == 5 { return "\(kind) 5 \(pool ?? "")" }
    return method == 1 ? "\(kind) 1 \(session ?? "") \(name ?? "nil")" : "\(kind) \(method)"
  }

  /// A sign-in at a user pool, or at a provider: five or six fields are always there.
  private func providerSession(_ bytes: [UInt8]) throws -> String {
    var parts: [Int: String] = [:]
    for field in try list(bytes) {
      switch field.tag {
      case 1...6: parts[field.tag] = try text(field.value)
      case 7, 16: parts[field.tag] = "\(try word(field.value))"
      case 8: parts[field.tag] = try secret(field.value, most: 50_000)
      case 9, 10: parts[field.tag] = try providerToken(field.value)
      case 11, 12, 13: parts[field.tag] = try text(field.value)
      // Left out, it is 0.
      case 15: parts[field.tag] = try byte(field.value) != 0 ? "1" : nil
      default: break
      }
      if field.tag == 1, !SecondRules.isUserPoolID(parts[1] ?? "") { throw Unreadable() }
      if field.tag == 11, !SecondRules.isIssuer(parts[11] ?? "") { throw Unreadable() }
    }
    // A user pool goes before a provider.
    if parts[1] != nil { (parts[11], parts[12]) = (nil, nil) }
    let source = parts[1] == nil ? [11, 12] : [1]
    guard (source + [2, 3, 4, 8]).allSatisfy({ parts[$0] != nil }) else { throw Unreadable() }
    return "\(parts.sorted { $0.key < $1.key })"
  }

  private func providerToken(_ bytes: [UInt8]) throws -> String {
    var (token, times): (String?, [Int: Int64]) = (nil, [:])
    for field in try list(bytes) {
      switch field.tag {
      case 1:
        token = try secret(field.value, most: 50_000)
        if field.value.isEmpty { token = nil }
      case 2, 3: times[field.tag] = try word(field.value)
      default: break
      }
    }
    guard let token, times[2] != nil else { throw Unreadable() }
    return "\(token) \(times.sorted { $0.key < $1.key })"
  }

  private func login(_ bytes: [UInt8]) throws -> (provider: String, token: [UInt8]) {
    var (provider, token): (String?, [UInt8]?)
    for field in try list(bytes) {
      if field.tag == 1 { provider = try text(field.value) }
      if field.tag == 2 {
        _ = try secret(field.value, most: 200_000)
        token = field.value
      }
    }
    guard let provider, let token else { throw Unreadable() }
    return (provider, token)
  }

  private func expiration(_ bytes: [UInt8]) throws -> (String, String) {
    var (provider, time): (String?, Int64?)
    var isAnnounced = false
    for field in try list(bytes) {
      if field.tag == 1 { provider = try text(field.value) }
      if field.tag == 2 { time = try word(field.value) }
      if field.tag == 3 { isAnnounced = try byte(field.value) != 0 }
    }
    guard let provider, let time else { throw Unreadable() }
    return (provider, "\(time) \(isAnnounced)")
  }

  private func token(_ bytes: [UInt8]) throws -> String {
    var token: [UInt8]?
    var numbers: [Int: Int64] = [:]
    for field in try list(bytes) {
      if field.tag == 1 {
        _ = try secret(field.value, most: 200_000)
        token = field.value
      }
      if [2, 5, 6].contains(field.tag) { numbers[field.tag] = try word(field.value) }
    }
    guard let token, !token.isEmpty, numbers[5] != nil else { throw Unreadable() }
    return "\(token) \(numbers.sorted { $0.key < $1.key })"
  }

  private func credentials(_ bytes: [UInt8]) throws -> String {
    var parts: [Int: String] = [:]
    for field in try list(bytes) {
      switch field.tag {
      case 1, 5: parts[field.tag] = try text(field.value)
      case 2, 3: parts[field.tag] = try secret(field.value)
      case 4, 6, 7, 8: parts[field.tag] = "\(try word(field.value))"
      default: break
      }
    }
    guard [1, 2, 3, 4, 6, 7, 8].allSatisfy({ parts[$0] != nil }) else { throw Unreadable() }
    return "\(parts.sorted { $0.key < $1.key })"
  }

  /// Nil where the failure has a kind, a code or an upstream that this version does not know.
  private func failure(_ bytes: [UInt8], isPause: Bool) throws -> String? {
    var failure: String?
    var times: [Int: Int64] = [:]
    for field in try list(bytes) {
      if field.tag == 1 { failure = try upstreamFailure(field.value) }
      if field.tag == 2 || field.tag == 3 { times[field.tag] = try word(field.value) }
    }
    guard let failure, let at = times[2] else { return nil }
    guard isPause else { return "\(failure) \(at)" }
    return times[3].map { "\(failure) \(at) \($0)" }
  }

  private func upstreamFailure(_ bytes: [UInt8]) throws -> String? {
    var bytesOf: [Int: UInt8] = [:]
    var texts: [Int: String] = [:]
    var delay: Int64?
    for field in try list(bytes) {
      switch field.tag {
      case 1, 3, 7, 8, 11: bytesOf[field.tag] = try byte(field.value)
      case 2, 5, 6, 9, 10, 12: texts[field.tag] = try text(field.value)
      case 4: delay = try word(field.value)
      default: break
      }
    }
    guard let upstream = bytesOf[1], upstream <= 2, let kind = bytesOf[3], kind <= 12,
      ProtocolErrorCode(rawValue: texts[5] ?? "") != nil
    else { return nil }
    let message = texts[6] ?? ""
    let summary = texts[9] ?? message
    let evidence = bytesOf[11].flatMap { $0 <= 2 ? $0 : nil } ?? 0
    let name = upstream == 2 ? texts[2] ?? "" : ""
    let pause = kind <= 1 ? delay.map { "\($0)" } ?? "none" : "none"
    return "\(upstream) \(name) \(kind) \(texts[5] ?? "") \(message.prefix(128)) "
      + "\(summary.prefix(128)) \(texts[10] ?? "none") \((texts[12] ?? "none").prefix(128)) \(evidence) \(bytesOf[7] == 1) "
      + "\(bytesOf[8] == 1) \(pause)"
  }
}
