/// A stored session: user, profile, fingerprints of the configuration, and snapshot.
public struct SessionRecord: Sendable, Equatable {
  private enum Tag {
    static let uid: UInt8 = 1
    static let profile: UInt8 = 2
    static let user: UInt8 = 3
    static let identityFingerprint: UInt8 = 4
    static let credentialsFingerprint: UInt8 = 5
    static let session: UInt8 = 6
    static let backendFingerprint: UInt8 = 7
    static let linkFingerprint: UInt8 = 8
  }

  public let uid: UInt32
  public let profile: String
  /// The owner: another person with this uid does not get the session.
  public var owner: SessionOwner
  let identityFingerprint: Fingerprint
  let credentialsFingerprint: Fingerprint
  /// Nil in records of earlier versions.
  let backendFingerprint: Fingerprint?
  /// The fingerprint of the provider whose sign-ins are linked; nil without such a provider, and in
  /// records of earlier versions.
  let linkFingerprint: Fingerprint?
  public let snapshot: SessionSnapshot

  public init(uid: UInt32, owner: SessionOwner, profile: Profile, snapshot: SessionSnapshot) {
    self.uid = uid
    self.owner = owner
    self.profile = profile.settings.name
    identityFingerprint = profile.identityFingerprint
    credentialsFingerprint = profile.credentialsFingerprint
    backendFingerprint = profile.backendFingerprint
    linkFingerprint = profile.link?.backendFingerprint
    self.snapshot = snapshot
  }

  /// Whether tokens of the session come from this profile's backend: from the same address, with
  /// the same certificate authorities. Records of earlier versions do not say it.
  public func has(_ tokens: ProviderSession, from profile: Profile) -> Bool {
    let address = tokens === snapshot.providerSession ? backendFingerprint : linkFingerprint
    return address.map { $0 == profile.backendFingerprint } ?? true
  }

  /// The stored bytes. They hold secrets.
  public var encoded: [UInt8] {
    var writer = SnapshotWriter(capacity: 8192)
    writer.field(Tag.uid, UInt64(uid))
    writer.field(Tag.profile, profile)
    writer.field(Tag.user, ownerText)
    writer.field(Tag.identityFingerprint, identityFingerprint.value)
    writer.field(Tag.credentialsFingerprint, credentialsFingerprint.value)
    if let backendFingerprint { writer.field(Tag.backendFingerprint, backendFingerprint.value) }
    if let linkFingerprint { writer.field(Tag.linkFingerprint, linkFingerprint.value) }
    writer.group(Tag.session) { snapshot.write(to: &$0) }
    return writer.bytes
  }

  /// The field is missing if the owner is unknown; it is empty for a uid without a name.
  private var ownerText: String? {
    switch owner {
    case .named(let name): name
    case .nameless: ""
    case .unknown: nil
    }
  }

  /// Reads ``encoded``, written by any version of the daemon. Unknown fields are ignored.
  public init(reading bytes: ArraySlice<UInt8>) throws(SnapshotError) {
    guard bytes.count <= Limits.Store.sessionBytes else { throw .tooLong("session") }
    var fields = SnapshotReader(bytes)
    var (uid, identity, credentials): (UInt64?, UInt64?, UInt64?)
    var (backend, link): (UInt64?, UInt64?)
    var (profile, user): (String?, String?)
    var snapshot: SessionSnapshot?
    while let field = try fields.next() {
      switch field.tag {
      case Tag.uid: uid = try field.word("uid")
      case Tag.profile: profile = try field.text("profile")
      case Tag.user: user = try field.text("user")
      case Tag.identityFingerprint: identity = try field.word("fingerprint")
      case Tag.credentialsFingerprint: credentials = try field.word("fingerprint")
      case Tag.backendFingerprint: backend = try field.word("fingerprint")
      case Tag.linkFingerprint: link = try field.word("fingerprint")
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
    owner = user.map { SessionOwner(name: $0.isEmpty ? nil : $0) } ?? .unknown
    identityFingerprint = Fingerprint(value: identity)
    credentialsFingerprint = Fingerprint(value: credentials)
    backendFingerprint = backend.map { Fingerprint(value: $0) }
    linkFingerprint = link.map { Fingerprint(value: $0) }
    self.snapshot = snapshot
  }

  /// The part of the session that the profile can use in its present configuration; nil if there is
  /// none.
  ///
  /// - Throws: if no session of the profile can have this state.
  public func snapshot(
    for profile: Profile, now: Instant
  ) throws(SnapshotError) -> SessionSnapshot? {
    guard snapshot.isOfThisBoot(now) else { return nil }
    guard profile.identityFingerprint == identityFingerprint else {
      // A logout holds, even in a profile that would sign in unattended.
      guard snapshot.held.state == .signedOut(byUser: true) else { return nil }
      return SessionSnapshot(
        held: Held(state: .signedOut(byUser: true)), lastAsked: snapshot.lastAsked)
    }
    try snapshot.check(for: profile)
    var kept =
      profile.credentialsFingerprint == credentialsFingerprint ? snapshot : snapshot.signInAlone
    let issuer = kept.held.state.providerSession?.issuer
    if backendFingerprint.map({ $0 != profile.backendFingerprint }) ?? false
      || issuer != nil && issuer != profile.plan.backend.issuer
    {
      kept.held.leaveBackend()
      kept.held.link = nil
    }
    if kept.held.link?.issuer != profile.link?.plan.backend.issuer
      || linkFingerprint.map({ $0 != profile.link?.backendFingerprint }) ?? false
    {
      kept.held.link = nil
    }
    return kept
  }
}
