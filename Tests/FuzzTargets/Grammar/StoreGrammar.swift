import CredCore

extension [UInt8] {
  /// The value in so many bytes, the lowest first.
  init(_ value: UInt64, bytes count: Int) {
    self = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }
}

/// A field of a stored session before it is written: the value, or fields within.
private enum FieldText {
  case bytes([UInt8])
  case fields([(tag: Int, field: FieldText)])
}

extension Dice {
  /// A stored session.
  mutating func snapshot() -> [UInt8] {
    var fields: [(tag: Int, field: FieldText)] = [
      (1, word(once(in: 12) ? 1 << 32 : 1000)), (2, .bytes(Array(profileName().utf8))),
      (4, .bytes(bytes(8))), (5, .bytes(bytes(8))), (6, .fields(session())),
    ]
    if once(in: 2) { fields.append((3, text(once(in: 4) ? "" : "alice"))) }
    if once(in: 2) { fields.append((7, .bytes(bytes(8)))) }
    if once(in: 8) { fields.append((6, .fields(session()))) }
    return encoded(fields)
  }

  private mutating func text(_ usual: String) -> FieldText {
    .bytes(
      Array(
        (once(in: 8) ? pick(Self.oddTexts + [String(repeating: "é", count: 2049)]) : usual).utf8))
  }

  private func word(_ value: UInt64) -> FieldText { .bytes([UInt8](value, bytes: 8)) }

  private mutating func byte(_ most: Int) -> FieldText { .bytes([UInt8(number(most + 1))]) }

  /// A time of this boot, or any.
  private mutating func time() -> FieldText {
    word(once(in: 8) ? pick([0, .max, 1 << 63, next()]) : UInt64(number(2000)) * 1_000_000_000)
  }

  /// Writes fields in any order, now and then with one missing, twice, unknown or of a wrong length.
  private mutating func encoded(_ fields: [(tag: Int, field: FieldText)]) -> [UInt8] {
    var fields = once(in: 3) ? fields.shuffled(using: &self) : fields
    if once(in: 12), !fields.isEmpty {
      let index = number(fields.count)
      switch number(4) {
      case 0: fields.remove(at: index)
      case 1: fields.append(fields[index])
      case 2: fields.insert((pick([0, 15, 99, 200, 255]), .bytes(bytes(number(9)))), at: index)
      default: fields[index].field = .bytes(bytes(number(10)))
      }
    }
    var output: [UInt8] = []
    for (tag, field) in fields {
      let value: [UInt8] =
        switch field {
        case .bytes(let bytes): bytes
        case .fields(let inner): encoded(inner)
        }
      output += [UInt8(tag)] + [UInt8](UInt64(value.count), bytes: 4) + value
    }
    return output
  }

  private mutating func session() -> [(tag: Int, field: FieldText)] {
    var fields: [(tag: Int, field: FieldText)] = [(1, .fields(state())), (9, time())]
    if once(in: 2) { fields.append((2, .bytes(Array(identityID().utf8)))) }
    for index in 0..<(once(in: 12) ? number(14) : number(3)) {
      fields.append((3, .fields(login(index))))
      if once(in: 2) { fields.append((4, .fields(expiration(index)))) }
    }
    if once(in: 2) { fields.append((5, .fields(storedToken()))) }
    if once(in: 2) { fields.append((6, .fields(storedCredentials()))) }
    if once(in: 3) { fields.append((7, text("alice"))) }
    if once(in: 3) { fields.append((15, byte(2))) }
    if once(in: 4) { fields.append((8, text("arn:aws:iam::123456789012:role/x"))) }
    if once(in: 2) {
      fields += [(10, word(UInt64(number(9)))), (11, word(UInt64(number(9)))), (12, time())]
    }
    if once(in: 16) {
      fields.append((pick([10, 11]), word(pick([.max, 1 << 62, (1 << 62) - 1]))))
    }
    if once(in: 3) {
      fields.append((13, .fields([(1, .fields(failure())), (2, time()), (3, time())])))
    }
    if once(in: 3) { fields.append((14, .fields([(1, .fields(failure())), (2, time())]))) }
    return fields
  }

  private mutating func state() -> [(tag: Int, field: FieldText)] {
    let kind = once(in: 24) ? 5 : number(5)
    var fields: [(tag: Int, field: FieldText)] = [(1, .bytes([UInt8(kind)]))]
    guard kind >= 3 else { return fields }
    fields.append((2, once(in: 24) ? byte(255) : byte(5)))
    if once(in: 3) { fields.append((5, .fields(providerSession()))) }
    if once(in: 2) { fields.append((3, text("session"))) }
    if once(in: 2) { fields.append((4, text("al"))) }
    return fields
  }

  private mutating func providerSession() -> [(tag: Int, field: FieldText)] {
    var fields: [(tag: Int, field: FieldText)] = [
      (1, text(once(in: 16) ? "nowhere" : "eu-west-1_AbCdEf123")), (2, text("client")),
      (3, text("https://pool.example/")), (4, text("alice")),
      (8, once(in: 8) ? .bytes([]) : text("refresh")),
    ]
    if once(in: 3) {
      fields[0] = (11, text(once(in: 16) ? "http://h/" : "https://idp.example/"))
      if !once(in: 8) { fields.append((12, text("idp.example"))) }
      fields.append((13, text("https://idp.example/token")))
    }
    if once(in: 2) { fields += [(5, text("sub")), (6, text("eu-west-1_0f")), (7, time())] }
    for tag in [9, 10] where once(in: 2) {
      fields.append((tag, .fields([(1, .bytes(Array(token().utf8))), (2, time()), (3, time())])))
    }
    return fields
  }

  private mutating func login(_ index: Int) -> [(tag: Int, field: FieldText)] {
    [(1, text("idp\(once(in: 12) ? 0 : index).example.com")), (2, .bytes(Array(token().utf8)))]
  }

  private mutating func expiration(_ index: Int) -> [(tag: Int, field: FieldText)] {
    [(1, text("idp\(index).example.com")), (2, time()), (3, byte(2))]
  }

  private mutating func storedToken() -> [(tag: Int, field: FieldText)] {
    var fields: [(tag: Int, field: FieldText)] = [(1, .bytes(Array(token().utf8))), (5, time())]
    if once(in: 2) { fields += [(2, time()), (6, time())] }
    return fields
  }

  private mutating func storedCredentials() -> [(tag: Int, field: FieldText)] {
    var fields: [(tag: Int, field: FieldText)] = [
      (1, text("ASIAEXAMPLE000000001")), (2, text("secret")), (3, text("session")), (4, time()),
      (6, time()), (7, time()), (8, time()),
    ]
    if once(in: 2) { fields.append((5, text("123456789012"))) }
    return fields
  }

  private mutating func failure() -> [(tag: Int, field: FieldText)] {
    let code = pick(ProtocolErrorCode.allCases).rawValue
    var fields: [(tag: Int, field: FieldText)] = [
      (1, byte(once(in: 8) ? 4 : 2)), (2, text("corp")), (3, byte(once(in: 8) ? 20 : 12)),
      (4, time()), (5, text(code)), (6, text(String(repeating: "é ", count: number(100)))),
      (7, byte(1)), (8, byte(2)),
    ]
    if once(in: 2) {
      fields += [(9, text("summary")), (10, text("Reason")), (11, byte(3)), (12, text("POST"))]
    }
    return fields
  }

  // MARK: Frames

  /// A header, or frames and gaps of a store.
  mutating func store() -> [UInt8] {
    var output: [UInt8] = []
    if once(in: 2) {
      let boot = once(in: 8) ? bytes(16) : [UInt8](repeating: once(in: 8) ? 0 : 7, count: 16)
      output = StoreHeader(boot: boot, generation: next(), marker: once(in: 8) ? 0 : next()).encoded
      if once(in: 4) { output[number(64)] ^= 1 << UInt8(number(8)) }
    }
    for _ in 0..<number(4) {
      if once(in: 3) { output += [UInt8](repeating: 0, count: 8 * number(4)) }
      let payload = once(in: 3) ? snapshot() : bytes(number(40))
      var frame = StoredRecord.frame(
        Array(payload.prefix(512)), sequence: next(),
        marker: once(in: 12) ? 1 : FuzzTarget.marker)
      if once(in: 4) { frame[number(frame.count)] ^= 1 << UInt8(number(8)) }
      output += frame
    }
    return output
  }

  /// A file of IdentityIds.
  mutating func identities() -> String {
    var lines = [
      once(in: 16) ? pick(["credd-identities 2", "", "credd-identities 1 "]) : "credd-identities 1"
    ]
    let count = number(4)
    for _ in 0..<count { lines.append(identityLine()) }
    lines.append(
      "end \(once(in: 12) ? pick(["+\(count)", "0\(count)", "\(count + 1)", "x"]) : "\(count)")")
    if once(in: 12) { lines.append("more") }
    return lines.joined(separator: "\n") + (once(in: 12) ? "" : "\n")
  }

  private mutating func identityLine() -> String {
    var fields = [
      once(in: 12) ? pick(["-1", "4294967296", "+5", "", "007"]) : "\(number(70_000))",
      profileName(),
      once(in: 3) ? pick(["", ":", "%3a"]) : "al%20ice", poolID(),
      once(in: 3) ? "" : "login.example.app",
      pick(["{user}", "%7buser}", "a%2", "a%25b", "%C3%A9", "é", "%FF", "%+1"]), identityID(),
      once(in: 20) ? "other" : pick(["user", "guest"]),
    ]
    if once(in: 20) { fields.append("x") }
    return fields.joined(separator: "\t")
  }
}
