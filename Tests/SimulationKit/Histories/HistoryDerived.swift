import CredCore
import Foundation

/// In some histories a fourth profile is derived from the first one: by a policy, or by a role.
///
/// A key that it gives may do what the configuration in force says and no more, whatever STS answers. Of every
/// such key the judge asks what it may do.
extension HistoryConfiguration {
  struct Derived: Sendable, Equatable {
    enum Kind: Sendable, CaseIterable { case scope, hop, narrowHop, shorter }

    var kind: Kind
    /// Each version allows something else.
    var version = 0

    static let name = "p3"
    static let source = "p0"
    static let path = "/etc/credd/policy.json"
    static let role = "arn:aws:iam::210987654321:role/other"

    var hasPolicy: Bool { kind == .scope || kind == .narrowHop }
    var isHop: Bool { kind == .hop || kind == .narrowHop }

    /// The policy's file.
    var file: String { policy(for: "{uid}") }

    /// What STS must be sent for a user.
    func policy(for uid: String) -> String {
      #"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:Get\#(version)","Resource":"arn:aws:s3:::b/\#(uid)/*"}]}"#
    }

    var text: String {
      var text = "[profile \(Self.name)]\nsource_profile = \(Self.source)\n"
      if hasPolicy { text += "policy_file = \(Self.path)\n" }
      if isHop { text += "role_arn = \(Self.role)\nrole_session_name = u{uid}\n" }
      if kind == .shorter { text += "duration = \(10 + version % 5)m\n" }
      return text
    }
  }

  /// Whether a history has one; few have, so that seeds mean what they meant.
  static func hasDerived(_ seed: UInt64) -> Bool { seed % 4 == 3 }

  /// The derived profile, as long as there is its source.
  var derivedProfile: Profile? {
    guard derived != nil, var profile = profiles.first(where: { $0.name == Derived.source }) else {
      return nil
    }
    profile.name = Derived.name
    profile.isDerived = true
    profile.vended = []
    profile.rule.impersonators = []
    return profile
  }
}

extension History {
  /// Every third request for a session is for the derived profile.
  static func derived(_ act: HistoryAct, _ index: Int) -> HistoryAct {
    guard index % 3 == 0, case .send(let client, let request) = act else { return act }
    switch request {
    case .get(_, let members): return .send(client: client, .get(profile: 3, members: members))
    case .identity: return .send(client: client, .identity(profile: 3))
    case .impersonate(_, let user, let byName):
      return .send(client: client, .impersonate(profile: 3, user: user, byName: byName))
    case .token(_, let members): return .send(client: client, .token(profile: 3, members: members))
    case .clear(_, identity: false):
      return .send(client: client, .clear(profile: 3, identity: false))
    case .watch(profile: .some): return .send(client: client, .watch(profile: 3))
    case .logout(_, let isGlobal) where index % 2 == 0:
      return .send(client: client, .logout(profile: 0, isGlobal: isGlobal))
    default: return act
    }
  }
}

// MARK: - STS

extension HistoryUpstreams {
  /// What STS says, although it is not so. While there is trouble, it may.
  private enum Lie: CaseIterable { case sameKey, unscoped, otherSession, late, past }

  /// The answer to a call that a session's credentials sign; nil for another request.
  func derivedReply(to request: HTTPRequest) -> HTTPReply? {
    guard let text = request.body.exposedText(), text.hasPrefix("Action="),
      !text.hasPrefix("Action=AssumeRoleWithWebIdentity")
    else { return nil }
    var query = URLComponents()
    query.percentEncodedQuery = text
    let form = Dictionary(
      (query.queryItems ?? []).map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { $1 })
    let caller = request.header("Authorization")?.split(separator: "Credential=").last?
      .split(separator: "/").first.map(String.init)
    guard let caller, let number = Self.number(ofKey: caller), let source = keys[number] else {
      return .sts("InvalidClientTokenId")
    }
    guard source.ends > world.now else { return .sts("ExpiredToken") }
    return derive(form, number, source)
  }

  private func derive(_ form: [String: String], _ caller: Int, _ source: Keys) -> HTTPReply {
    let lie = trouble != .none && world.random.happens(0.3) ? world.random.pick(Lie.allCases) : nil
    let seconds = form["DurationSeconds"].flatMap { Double($0) }
    var issued = source
    issued.source = caller
    if let role = form["RoleArn"] {
      issued.policies = []
      issued.role = role
      issued.arn = "arn:aws:sts::210987654321:assumed-role/other/\(form["RoleSessionName"] ?? "")"
      issued.ends = world.later(seconds ?? 3600)
    } else if let seconds {
      guard world.later(seconds) <= source.ends else { return .sts("InsufficientSessionLifetime") }
      issued.ends = world.later(seconds)
    }
    // What AssumeRole answers does not show whether a policy was applied.
    let isScoped = (lie != .unscoped || form["RoleArn"] != nil) && world.fault != .unscopedKeys
    if let policy = form["Policy"], isScoped { issued.policies.append(policy) }
    let count = issued.policies.count + (world.fault == .unscopedKeys ? 1 : 0)
    switch lie {
    case .otherSession: issued.arn += "x"
    case .late: issued.ends = issued.ends + .seconds(7200)
    case .past: issued.ends = world.now - .seconds(60)
    case .sameKey, .unscoped, nil: break
    }
    let number = lie == .sameKey ? caller : add(issued)
    return derivedReply(number, issued, scopes: count, isHop: form["RoleArn"] != nil)
  }

  private func derivedReply(
    _ number: Int, _ issued: Keys, scopes: Int, isHop: Bool
  ) -> HTTPReply {
    let name = isHop ? "AssumeRole" : "GetScopedCredentials"
    let session = isHop ? "AssumedRoleUser" : "SessionInfo"
    let ends = world.trueTime + (issued.ends - world.now)
    let secret = HistorySecret.text(number)
    return .plain(
      200,
      """
      <\(name)Response><\(name)Result><Credentials><AccessKeyId>\(Self.keyID(number))</AccessKeyId>\
      <SecretAccessKey>\(secret)</SecretAccessKey><SessionToken>\(secret)</SessionToken>\
      <Expiration>\(ends.iso8601)</Expiration></Credentials><\(session)><Arn>\(issued.arn)</Arn>\
      </\(session)><ScopedPoliciesCount>\(scopes)</ScopedPoliciesCount></\(name)Result></\(name)Response>
      """)
  }
}

// MARK: - The judge

extension HistoryRun {
  /// A client of the derived profile got a key: it may do what the configuration says, and no more.
  func judgeNarrowness(
    _ keys: HistoryUpstreams.Keys, _ line: HistoryClient.Line, _ client: HistoryClient
  ) {
    guard line.profile == HistoryConfiguration.Derived.name,
      let derived = host.configuration.derived
    else {
      if keys.source != nil, line.profile != HistoryConfiguration.Derived.name {
        world.violate(.neverWider, "line \(line.number) got a derived key of another profile")
      }
      return
    }
    let uid = "\(HistoryPeople.uid(line.target))"
    let isNarrow = !derived.hasPolicy || keys.policies.contains(derived.policy(for: uid))
    let isRole = !derived.isHop || keys.role == HistoryConfiguration.Derived.role
    guard keys.source != nil, isNarrow, isRole else {
      return world.violate(
        .neverWider,
        "line \(line.number) of \(uid) got a key with \(keys.policies) and role \(keys.role ?? "none")"
      )
    }
  }
}
