/// The members of a request, read by key and type. Errors name the key.
struct RequestObject {
  private let value: JSONValue
  private let members: [JSONMember]
  private let standardProfile: String

  /// - Parameter standard: the profile of a request that names none.
  init(
    _ value: JSONValue, standardProfile standard: String = ProfileName.default
  ) throws(ProtocolError) {
    guard case .object(let members) = value else {
      throw .invalid(#"a request must be an object such as {"op":"get"}"#)
    }
    self.value = value
    self.members = members
    standardProfile = standard
  }

  func id() throws(ProtocolError) -> RequestID? {
    guard let value = value["id"] else { return nil }
    guard let id = RequestID(value) else {
      throw .invalid(
        #""id" must be a string or a number of at most \#(Limits.Line.idBytes) bytes"#)
    }
    return id
  }

  func purpose() throws(ProtocolError) -> String? {
    guard let purpose = try text("purpose") else { return nil }
    guard (1...Limits.Line.purposeBytes).contains(purpose.utf8.count),
      purpose.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
    else {
      throw .invalid(
        #""purpose" must be 1 to \#(Limits.Line.purposeBytes) printable ASCII characters"#)
    }
    return purpose
  }

  /// The operation. Throws if the line has a key that does not belong to it.
  func operation() throws(ProtocolError) -> OperationName {
    let names = OperationName.allCases.map(\.rawValue)
    let text = try text("op") ?? OperationName.get.rawValue
    guard let name = OperationName(rawValue: text) else {
      throw ProtocolError(
        .unknownOperation,
        "unknown operation \(text.quoted)" + suggestion(for: text, among: names))
    }
    try checkKeys(of: name)
    return name
  }

  /// Throws if the object has any other key.
  func checkKeys(among keys: [String], of what: String) throws(ProtocolError) {
    guard let stray = members.first(where: { member in !keys.contains { member.isNamed($0) } })
    else { return }
    throw .invalid("key \(stray.key.quoted) at byte \(stray.keyOffset) does not belong to \(what)")
  }

  private func checkKeys(of name: OperationName) throws(ProtocolError) {
    let keys = name.row.keys + OperationName.keysOfEvery
    guard let stray = members.first(where: { member in !keys.contains { member.isNamed($0) } })
    else { return }
    let named = "\(stray.key.quoted) at byte \(stray.keyOffset)"
    if OperationName.allCases.contains(where: { $0.row.keys.contains(stray.key) }) {
      throw .invalid(#"key \#(named) does not belong to "\#(name.rawValue)""#)
    }
    throw .invalid("unknown key \(named)" + suggestion(for: stray.key, among: keys))
  }

  private func suggestion(for text: String, among names: [String]) -> String {
    NearestName.of(text, in: names).map { #", did you mean "\#($0)"?"# } ?? ""
  }
}

extension RequestObject {
  subscript(_ key: String) -> JSONValue? { value[key] }

  func text(_ key: String) throws(ProtocolError) -> String? {
    guard let value = value[key] else { return nil }
    guard let text = value.text else { throw .invalid("\"\(key)\" must be a string") }
    return text
  }

  func secret(_ key: String) throws(ProtocolError) -> Secret? {
    guard let value = value[key] else { return nil }
    guard let secret = value.secret else { throw .invalid("\"\(key)\" must be a string") }
    return secret
  }

  func flag(_ key: String, standard: Bool = false) throws(ProtocolError) -> Bool {
    guard let value = value[key] else { return standard }
    guard let flag = value.bool else { throw .invalid("\"\(key)\" must be true or false") }
    return flag
  }

  /// Seconds, to the millisecond.
  func seconds(_ key: String, upTo longest: Double) throws(ProtocolError) -> Duration? {
    guard let value = value[key] else { return nil }
    guard let seconds = value.double, (0...longest).contains(seconds) else {
      throw .invalid("\"\(key)\" must be a number from 0 to \(Int64(saturating: longest))")
    }
    return .milliseconds(Int64(nearest: seconds * 1000))
  }

  /// Another user's name, or its uid in digits.
  func user() throws(ProtocolError) -> String? {
    guard let name = try text("user") else { return nil }
    guard name.isAccountName, !name.utf8.contains(0) else {
      throw .invalid(
        #""user" must be a name of 1 to \#(Limits.Configuration.accountNameBytes) bytes, or a uid"#)
    }
    return name
  }

  func profile() throws(ProtocolError) -> String {
    guard let name = try text("profile") else { return standardProfile }
    guard name.isProfileName else {
      throw ProtocolError(
        .unknownProfile,
        "\(name.quoted) cannot be a profile's name, which is 1 to "
          + "\(Limits.Configuration.profileNameLength) letters, digits, dots, hyphens and underscores"
      )
    }
    return name
  }
}

extension ProtocolError {
  static func invalid(_ message: String) -> ProtocolError {
    ProtocolError(.invalidRequest, message)
  }
}

extension GetRequest {
  init(_ object: RequestObject) throws(ProtocolError) {
    self.init(
      profile: try object.profile(),
      minTTL: try object.seconds("min_ttl", upTo: Limits.Line.longestLifetimeSeconds),
      refresh: try object.flag("refresh"),
      wait: try object.seconds("wait", upTo: Limits.Line.longestWaitSeconds)
        ?? Limits.Line.defaultWait,
      user: try object.user())
  }
}

extension TokenRequest {
  init(_ object: RequestObject) throws(ProtocolError) {
    self.init(
      profile: try object.profile(),
      minTTL: try object.seconds("min_ttl", upTo: Limits.Line.longestLifetimeSeconds),
      refresh: try object.flag("refresh"),
      wait: try object.seconds("wait", upTo: Limits.Line.longestWaitSeconds)
        ?? Limits.Line.defaultWait,
      kind: try object.tokenKind())
  }
}

extension RequestObject {
  fileprivate func tokenKind() throws(ProtocolError) -> TokenKind? {
    guard let text = try text("kind") else { return nil }
    guard let kind = TokenKind(rawValue: text) else {
      throw .invalid(#""kind" must be "developer", "id" or "access""#)
    }
    return kind
  }
}

extension StatusRequest {
  init(_ object: RequestObject) throws(ProtocolError) {
    self.init(all: try object.flag("all"), profiles: try object.flag("profiles"))
    let range = 1...Limits.Line.longestStatusPage
    if let value = object["limit"] {
      guard let limit = value.integer.flatMap({ Int(exactly: $0) }), range.contains(limit) else {
        throw .invalid(#""limit" must be a whole number from 1 to \#(range.upperBound)"#)
      }
      self.limit = limit
    }
    if let text = try object.text("after") {
      guard let cursor = SessionCursor(text) else {
        throw .invalid(#""after" must be the "Next" of an earlier reply"#)
      }
      after = cursor
    }
  }
}

extension ClearScope {
  init(_ object: RequestObject) throws(ProtocolError) {
    guard let scope = ClearScope(rawValue: try object.text("what") ?? "") else {
      throw .invalid(#""what" must be "credentials" or "identity""#)
    }
    self = scope
  }
}
