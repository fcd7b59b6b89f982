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
    guard bytes.count <= Limits.snapshotBytes else { throw .tooLong("session") }
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
    guard let profile, ProfileName.isWellFormed(profile) else { throw .invalid("profile") }
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
      guard snapshot.standing == .signedOut(byUser: true) else { return nil }
      return SessionSnapshot(standing: snapshot.standing, lastAsked: snapshot.lastAsked)
    }
    return profile.credentialsFingerprint == credentialsFingerprint
      ? snapshot : snapshot.signInAlone
  }
}
