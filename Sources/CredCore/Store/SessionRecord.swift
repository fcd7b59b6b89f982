/// A session in the descriptor store: whose it is, for which profile, and what it knows.
public struct SessionRecord: Sendable, Equatable {
  private enum Tag {
    static let uid: UInt8 = 1
    static let profile: UInt8 = 2
    static let user: UInt8 = 3
    static let identityFingerprint: UInt8 = 4
    static let credentialsFingerprint: UInt8 = 5
    static let session: UInt8 = 6
  }

  public let uid: UInt32
  public let profile: String
  /// The uid's name when it was written, so that another person with that uid does not get it.
  public let user: String?
  let identityFingerprint: Fingerprint
  let credentialsFingerprint: Fingerprint
  public let snapshot: SessionSnapshot

  public init(uid: UInt32, user: String?, profile: Profile, snapshot: SessionSnapshot) {
    self.uid = uid
    self.user = user
    self.profile = profile.settings.name
    identityFingerprint = profile.identityFingerprint
    credentialsFingerprint = profile.credentialsFingerprint
    self.snapshot = snapshot
  }

  /// As it is stored. It holds secrets.
  public var encoded: [UInt8] {
    var writer = SnapshotWriter(capacity: 8192)
    writer.field(Tag.uid, UInt64(uid))
    writer.field(Tag.profile, profile)
    writer.field(Tag.user, user)
    writer.field(Tag.identityFingerprint, identityFingerprint.value)
    writer.field(Tag.credentialsFingerprint, credentialsFingerprint.value)
    writer.group(Tag.session) { snapshot.write(to: &$0) }
    return writer.bytes
  }

  /// Reads ``encoded``, of this daemon's version or another's: unknown fields are passed over.
  public init(reading bytes: ArraySlice<UInt8>) throws(SnapshotError) {
    guard bytes.count <= Limits.Store.sessionBytes else { throw .tooLong("session") }
    var fields = SnapshotReader(bytes)
    var (uid, identity, credentials): (UInt64?, UInt64?, UInt64?)
    var (profile, user): (String?, String?)
    var snapshot: SessionSnapshot?
    while let field = try fields.next() {
      switch field.tag {
      case Tag.uid: uid = try field.word("uid")
      case Tag.profile: profile = try field.text("profile")
      case Tag.user: user = try field.text("user")
      case Tag.identityFingerprint: identity = try field.word("fingerprint")
      case Tag.credentialsFingerprint: credentials = try field.word("fingerprint")
      case Tag.session: snapshot = try SessionSnapshot(reading: field.fields)
      default: break
      }
    }
    guard let number = uid, let identity, let credentials else { throw .missing("fingerprint") }
    guard let uid = UInt32(exactly: number) else { throw .invalid("uid") }
    guard let profile, profile.isProfileName else { throw .invalid("profile") }
    guard let snapshot else { throw .missing("session") }
    self.uid = uid
    self.profile = profile
    self.user = user
    identityFingerprint = Fingerprint(value: identity)
    credentialsFingerprint = Fingerprint(value: credentials)
    self.snapshot = snapshot
  }

  /// What of it still holds for a profile as it is configured now; nil for nothing.
  public func snapshot(for profile: Profile, now: Instant) -> SessionSnapshot? {
    guard snapshot.isOfThisBoot(now) else { return nil }
    guard profile.identityFingerprint == identityFingerprint else {
      // Who signed out stays so, whatever would sign them in by itself now.
      guard snapshot.held.state == .signedOut(byUser: true) else { return nil }
      return SessionSnapshot(
        held: Held(state: .signedOut(byUser: true)), lastAsked: snapshot.lastAsked)
    }
    return profile.credentialsFingerprint == credentialsFingerprint
      ? snapshot : snapshot.signInAlone
  }
}

/// Whether settings are the same as before a restart: 64 bits that differ when they do (FNV-1a).
///
/// Not against an adversary: who writes the configuration rules over the sessions anyway.
public struct Fingerprint: Sendable, Hashable {
  public private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  init() {}

  init(value: UInt64) {
    self.value = value
  }

  /// A text with its length, so that no two lists of texts look the same; nil is not the empty one.
  mutating func add(_ text: String?) {
    add(byte: text == nil ? 0 : 1)
    guard let text else { return }
    let count = UInt64(text.utf8.count)
    for shift in stride(from: 0, to: 64 as UInt64, by: 8) {
      add(byte: UInt8(truncatingIfNeeded: count >> shift))
    }
    for byte in text.utf8 { add(byte: byte) }
  }

  mutating func add(_ flag: Bool) { add(byte: flag ? 3 : 2) }

  private mutating func add(byte: UInt8) {
    value = (value ^ UInt64(byte)) &* 0x100_0000_01B3
  }
}

extension Fingerprint {
  /// Of all that decides which identity a user has, and who vouches for them.
  init(identityOf settings: ProfileSettings, _ backend: BackendSettings?, _ plan: SessionPlan) {
    self.init()
    add(settings.identityPoolID)
    add(settings.developerProvider)
    add(settings.userIdentifier.text)
    add(backend?.name)
    add(backend?.type.rawValue)
    add("\(plan.backend)")
    add(plan.allowsGuests)
    add(plan.tokenFileProvider)
    add(settings.webIdentityTokenFile)
  }

  /// Of that, and all that decides which credentials an identity gets. Where they are fetched is
  /// for the next call to know.
  init(credentialsOf settings: ProfileSettings, of identity: Fingerprint) {
    self = identity
    add(settings.flow.rawValue)
    add(settings.roleARN)
    add(settings.roleSessionName.text)
    add("\(settings.duration.wholeNanoseconds)")
    add(settings.policyFile)
    for policy in settings.policyARNs { add(policy) }
  }
}
