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
    let place = tokens === snapshot.providerSession ? backendFingerprint : linkFingerprint
    return place.map { $0 == profile.backendFingerprint } ?? true
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
    if kept.held.link?.issuer != profile.plan.link
      || linkFingerprint.map({ $0 != profile.link?.backendFingerprint }) ?? false
    {
      kept.held.link = nil
    }
    return kept
  }
}

/// A hash of settings (FNV-1a, 64 bits): equal if they are the same as before a restart.
///
/// It need not withstand an attacker: only root writes the configuration.
public struct Fingerprint: Sendable, Hashable {
  public private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  init() {}

  init(value: UInt64) {
    self.value = value
  }

  /// Adds a text with its length, so that different lists of texts differ. Nil is not the empty text.
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
  /// Covers the settings that decide which identity a user has and how the user is authenticated.
  init(identityOf settings: ProfileSettings, _ backend: BackendSettings?, _ plan: SessionPlan) {
    self.init()
    add(settings.identityPoolID)
    add(settings.developerProvider)
    add(settings.userIdentifier.text)
    add(backend?.name)
    add(backend?.kind.storedWord)
    add(plan.backend.storedWord)
    add(plan.allowsGuests)
    add(plan.tokenFileProvider)
    add(settings.webIdentityTokenFile)
    // Without a pool, its word tells it from a profile for tokens alone.
    if settings.flow == .direct { add(settings.flow.storedWord) }
  }

  /// Covers the settings of the identity's fingerprint, and the settings that decide which
  /// credentials an identity gets. Endpoints are not among them.
  init(
    credentialsOf settings: ProfileSettings, _ backend: BackendSettings?, _ direct: DirectRole?,
    of identity: Fingerprint
  ) {
    self = identity
    add(settings.flow.storedWord)
    add(settings.roleARN)
    add(settings.roleSessionName.text)
    add("\(settings.roleDuration.wholeNanoseconds)")
    add(settings.policyFile)
    for policy in settings.policyARNs { add(policy) }
    for text in backend?.kind.credentialSettings ?? [] { add(text) }
    guard let direct else { return }
    // With the bytes of the policy, which was read with the configuration.
    add(direct.policy?.stored)
    add(direct.sts.host.region)
  }

  /// Covers a backend's address and its certificate authorities: the tokens that it gave go to no
  /// other address. The values of these settings are stored only in this form.
  ///
  /// - Parameter issuer: the issuer, for a provider.
  init(placeOf backend: BackendSettings?, _ issuer: ProviderIssuer?) {
    self.init()
    add(backend?.type.rawValue)
    for text in backend?.kind.place(of: issuer) ?? [] { add(text) }
  }
}

// The words of fingerprints. A word keeps its meaning for ever, even if a case or a configuration
// key gets another name.

extension SessionPlan.BackendTrust {
  fileprivate var storedWord: String {
    switch self {
    case .none: "none"
    case .host: "host"
    case .password: "password"
    case .provider: "user-pool"
    }
  }
}

extension ProfileSettings.Flow {
  fileprivate var storedWord: String {
    switch self {
    case .enhanced: "enhanced"
    case .basic: "basic"
    case .direct: "direct"
    }
  }
}
