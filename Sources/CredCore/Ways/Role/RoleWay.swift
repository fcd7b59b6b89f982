/// The credentials of a role, for the ID token of a provider or the token of a file: `flow = direct`.
public struct RoleWay: Sendable, Equatable {
  public let role: DirectRole
}

extension RoleWay: WayKind {
  /// - Throws: for values that the configuration reader has refused already.
  init(
    _ keys: RoleSettings, of settings: ProfileSettings, in configuration: Configuration
  ) throws(InvalidInput) {
    role = try DirectRole(
      keys.session, at: try settings.sts(in: keys.region ?? ""), in: configuration)
  }

  var plan: PlannedWay { .role }
  var needsUserName: Bool { role.needsUserName }
  var regionKey: String { "region" }
  var region: String { role.sts.host.region }
  var regions: [NamedRegion] { [NamedRegion(region: region, key: regionKey)] }
  var account: String? { STS.accountID(role.arn) }

  /// Its word tells it from a profile for tokens alone.
  func identity(_ sides: FingerprintedSides) -> Fingerprint {
    var fingerprint = Fingerprint(identityBySignIn: sides)
    fingerprint.add(Self.storedWord)
    return fingerprint
  }

  /// With the bytes of the policy, which was read with the configuration.
  func credentials(_ sides: FingerprintedSides, of identity: Fingerprint) -> Fingerprint {
    var fingerprint = identity
    fingerprint.addCredentials(Self.storedWord, sides)
    fingerprint.add(role.policy?.stored)
    fingerprint.add(region)
    return fingerprint
  }

  private static let storedWord = "direct"

  // MARK: Sign-ins

  func refusal(of login: LoginRequest, in profile: Profile) -> ProtocolError? {
    profile.refusal(of: login, whichGives: "the role of its role_arn")
  }

  var takesEveryAlgorithm: Bool { true }

  /// It is known before STS is asked.
  func refusal(
    of signIn: AcceptedSignIn, for user: UnixUser, host: String
  ) -> UpstreamFailure? {
    do {
      _ = try role.sessionName(for: signIn.tokens.id.token, user, host: host)
      return nil
    } catch {
      return .unfitUser(error)
    }
  }

  func refusal(ofToken kind: TokenKind?, in profile: Profile) -> ProtocolError? {
    guard kind == .developer else { return nil }
    return .invalid(
      "profile '\(profile.settings.name)' has no identity pool (flow = direct), and so no developer tokens"
    )
  }

  func report(
    _ credentials: Credentials?, naming mayName: (_ profile: String) -> Bool
  ) -> DerivedReport? {
    DerivedReport(policy: role.policyName, roleARN: role.arn)
  }
}
