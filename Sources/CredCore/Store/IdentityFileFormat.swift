/// An IdentityId that outlives a reboot: one line of the file in the state directory. It is no
/// secret.
public struct KnownIdentity: Sendable, Equatable {
  public let uid: UInt32
  public let profile: String
  /// The owner: another person with this uid does not get the identity.
  public let owner: SessionOwner
  public let pool: String
  public let provider: String?
  /// `user_identifier` as the configuration has it.
  public let identifier: String
  public let identityID: IdentityID
  /// Whether this is an unauthenticated identity.
  public let isGuests: Bool

  /// The identity of a session that is kept; nil if none is kept.
  public init?(uid: UInt32, owner: SessionOwner, profile: Profile, snapshot: SessionSnapshot) {
    // Nil for the identity of a client or of a former backend: no backend may receive it.
    guard let identityID = snapshot.held.identityForBackend else { return nil }
    switch snapshot.held.state {
    case .signedIn(.developerToken), .tokensInvalid(.developerToken): return nil
    // After a reboot, another user of the pool may sign in. Cognito finds the identity again.
    case .signedIn(.provider), .tokensInvalid(.provider): return nil
    // The logins sign the user in although there is a backend. The backend would link their
    // identity to its own user.
    case .signedIn(.logins) where profile.plan.backend != .none,
      .tokensInvalid(.logins) where profile.plan.backend != .none:
      return nil
    case .guest: isGuests = true
    case .signedOut(byUser: true):
      // After a logout, an identity belongs to a guest whose credentials have not arrived yet.
      isGuests = true
    case .signedOut(byUser: false):
      isGuests = profile.plan.allowsGuests && !profile.plan.worksUnattended
    case .signedIn, .tokensInvalid: isGuests = false
    }
    self.uid = uid
    self.owner = owner
    self.profile = profile.settings.name
    pool = profile.settings.identityPoolID
    provider = profile.settings.developerProvider
    identifier = profile.settings.userIdentifier.text
    self.identityID = identityID
  }

  /// Whether the identity belongs to this user in the present configuration of the profile.
  public func belongs(to owner: SessionOwner, in profile: Profile) -> Bool {
    let settings = profile.settings
    guard pool == settings.identityPoolID else { return false }
    switch self.owner.successor(owner) {
    case .samePerson: break
    // Only a guest's identity would be lost with its line. A user gets the same identity from
    // upstream again.
    case .firstSeen: guard isGuests else { return false }
    case .anotherPerson, .nameless: return false
    }
    // A guest's identity depends on no provider.
    return isGuests
      || provider == settings.developerProvider && identifier == settings.userIdentifier.text
  }
}

extension KnownIdentity {
  /// The identity's line without a newline: `UID PROFILE USER POOL PROVIDER IDENTIFIER IDENTITYID
  /// user|guest`, with a tab between two fields; a field that is nil or unknown is empty. A uid
  /// without a name has a colon as its name, because no name contains a colon (passwd(5)).
  public var line: [UInt8] {
    var line = Array(String(uid).utf8)
    let fields = [
      profile, ownerText, pool, provider ?? "", identifier, identityID.description,
      isGuests ? "guest" : "user",
    ]
    for field in fields {
      line.append(Self.tab)
      Self.append(field, to: &line)
    }
    // Copied without spare capacity, because there are as many lines as sessions.
    return Array(line[...])
  }

  private static let nameless = ":"

  private var ownerText: String {
    switch owner {
    case .named(let name): name
    case .nameless: Self.nameless
    case .unknown: ""
    }
  }

  /// Reads ``line``; nil for other text.
  public init?(line: ArraySlice<UInt8>) {
    guard line.count <= Limits.Store.identityLineBytes else { return nil }
    let parts = line.split(separator: Self.tab, omittingEmptySubsequences: false)
    guard parts.count == 8 else { return nil }
    let fields = parts.compactMap { Self.text($0) }
    guard fields.count == 8, let uid = UInt32(fields[0]), fields[1].isProfileName,
      let identityID = try? IdentityID(fields[6])
    else { return nil }
    switch fields[7] {
    case "guest": isGuests = true
    case "user": isGuests = false
    default: return nil
    }
    self.uid = uid
    profile = fields[1]
    owner =
      fields[2].isEmpty
      ? .unknown : SessionOwner(name: fields[2] == Self.nameless ? nil : fields[2])
    pool = fields[3]
    provider = fields[4].isEmpty ? nil : fields[4]
    identifier = fields[5]
    self.identityID = identityID
  }

  private static let tab = UInt8(ascii: "\t")

  /// Appends a field, with controls, blanks and percent signs as `%XX`.
  private static func append(_ text: String, to line: inout [UInt8]) {
    for byte in text.utf8 {
      if byte <= 0x20 || byte == 0x7F || byte == UInt8(ascii: "%") {
        line.append(UInt8(ascii: "%"))
        line.append(contentsOf: Hex.encode(CollectionOfOne(byte)))
      } else {
        line.append(byte)
      }
    }
  }

  private static func text(_ field: ArraySlice<UInt8>) -> String? {
    var bytes: [UInt8] = []
    var rest = field
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let decoded = Hex.decode(rest.prefix(2)), decoded.count == 1 else { return nil }
      bytes += decoded
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}

/// The text of the file of IdentityIds: a first line with the version of the format, one line for
/// each identity, and a last line with their number.
public enum IdentityFileText {
  private static let first = Array("credd-identities 1".utf8)
  private static let newline = UInt8(ascii: "\n")

  /// - Parameter lines: the values of ``KnownIdentity/line``.
  public static func write(_ lines: some Collection<[UInt8]>) -> [UInt8] {
    var text = first + [newline]
    text.reserveCapacity(lines.reduce(64) { $0 + $1.count + 1 })
    for line in lines {
      text += line
      text.append(newline)
    }
    text += "end \(lines.count)\n".utf8
    return text
  }

  /// The content of a file.
  public struct Content: Sendable, Equatable {
    public var identities: [KnownIdentity] = []
    /// The damage of the file, for people. The identities that could be read are good.
    public var damage: String?
  }

  /// Reads a file, damaged or not.
  public static func read(_ text: [UInt8]) -> Content {
    guard text.count <= Limits.Store.identityFileBytes else {
      return Content(damage: "it is larger than \(Limits.Store.identityFileBytes) bytes")
    }
    var lines = text.split(separator: newline, omittingEmptySubsequences: false)[...]
    guard lines.popFirst()?.elementsEqual(first) ?? false else {
      return Content(damage: "its first line is not '\(String(decoding: first, as: UTF8.self))'")
    }
    var content = Content()
    var firstBad: Int?
    var end: Int?
    for (index, line) in lines.enumerated() {
      if let number = Self.end(line) {
        end = number
        break
      }
      guard content.identities.count < Limits.Session.most else {
        content.damage = "it holds more than \(Limits.Session.most) identities"
        return content
      }
      if let identity = KnownIdentity(line: line) {
        content.identities.append(identity)
      } else {
        firstBad = firstBad ?? index + 2
      }
    }
    if let firstBad {
      content.damage = "line \(firstBad) is not understood"
    } else if end != content.identities.count {
      content.damage = "it is not whole"
    }
    return content
  }

  private static func end(_ line: ArraySlice<UInt8>) -> Int? {
    guard line.starts(with: "end ".utf8) else { return nil }
    return String(validating: line.dropFirst(4), as: UTF8.self).flatMap { Int($0) }
  }
}
