import FoundationEssentials

/// The parameters of AssumeRole, checked as the STS API reference gives them.
struct RoleHop {
  private static let maximumTags = 50

  let roleARN: String
  let sessionName: String
  /// Seconds.
  let duration: Int
  let externalID: String?
  let sourceIdentity: String?
  let tags: [String: String]
  let transitiveKeys: Set<String>
  let policies: SessionPolicies

  init(_ form: FormParameters) throws(ServiceError) {
    var input = STSInput(form)
    roleARN = input.text("RoleArn", .arn)
    sessionName = input.text("RoleSessionName", .roleSessionName)
    duration = try input.optionalInteger("DurationSeconds", in: 900...43_200) ?? 3600
    externalID = input.optionalText("ExternalId", RoleHop.externalIDRule)
    sourceIdentity = input.optionalText("SourceIdentity", .sourceIdentity)
    policies = try SessionPolicies(&input)
    let keys = input.list("Tags", ".Key", RoleHop.tagKey)
    let values = input.list("Tags", ".Value", RoleHop.tagValue)
    transitiveKeys = Set(input.list("TransitiveTagKeys", "", RoleHop.tagKey))
    if keys.count != values.count || keys.count > RoleHop.maximumTags {
      input.report("Tags must be pairs of Key and Value, at most \(RoleHop.maximumTags)")
    }
    if sourceIdentity?.hasPrefix("aws:") ?? false {
      input.report("SourceIdentity must not begin with 'aws:'")
    }
    try input.finish()
    guard Set(keys.map { $0.lowercased() }).count == keys.count else {
      throw ServiceError(
        "InvalidParameterValue",
        "Duplicate tag keys found. Please note that Tag keys are case insensitive.")
    }
    tags = Dictionary(zip(keys, values)) { first, _ in first }
  }

  /// What the call wants beside the role itself, which its trust policy must allow.
  fileprivate var wants: [(action: String, isAllowed: KeyPath<Role.Trust, Bool>)] {
    (tags.isEmpty ? [] : [("sts:TagSession", \.allowsTags)])
      + (sourceIdentity == nil ? [] : [("sts:SetSourceIdentity", \.allowsSourceIdentity)])
  }

  private static let externalIDRule = InputRule(2...1224, pattern: #"[\w+=,.@:\/-]*"#) {
    $0.utf8.allSatisfy { InputRule.isWord($0) || "+=,.@:/-".utf8.contains($0) }
  }
  private static let tagKey = InputRule(1...128, pattern: #"[\p{L}\p{Z}\p{N}_.:/=+\-@]+"#) {
    RoleHop.isTag($0)
  }
  private static let tagValue = InputRule(0...256, pattern: #"[\p{L}\p{Z}\p{N}_.:/=+\-@]*"#) {
    RoleHop.isTag($0)
  }

  private static func isTag(_ text: String) -> Bool {
    text.allSatisfy { $0.isLetter || $0.isNumber || $0 == " " || "_.:/=+-@".contains($0) }
  }
}

extension SandboxState {
  /// Role chaining lasts an hour at most.
  private static let chainedDuration = 3600

  /// The members of AssumeRoleResult.
  mutating func assumeRole(
    _ call: RoleHop, by caller: SignedCaller, lying lie: STSLie?, at now: Date
  ) throws(ServiceError) -> [XMLElement] {
    let source = try caller.session()
    let role = try trustingRole(call, source)
    guard call.duration <= SandboxState.chainedDuration else {
      throw ServiceError(
        "ValidationError",
        "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role "
          + "chaining")
    }
    var session = RoleSession(role: role.arn, name: call.sessionName)
    session.sessionPolicies = call.policies.documents
    session.tags = source.tags.filter { source.transitiveTags.contains($0.key) }
    for (key, value) in call.tags {
      guard session.tags[key] == nil else {
        throw SandboxState.notAuthorized(
          source.arn, AccessRequest(action: "sts:TagSession", resource: role.arn))
      }
      session.tags[key] = value
    }
    session.transitiveTags = call.transitiveKeys.union(
      session.tags.keys.filter(source.transitiveTags.contains))
    session.sourceIdentity = source.sourceIdentity ?? call.sourceIdentity
    try session.pack(
      call.policies.size
        + session.tags.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count })
    let credentials = signedCredentials(
      session, for: caller,
      until: Date(timeIntervalSince1970: Double(now.epochSeconds + call.duration)), lying: lie,
      at: now)
    let shown = lie == .otherSession ? RoleSession(role: role.arn, name: "else") : session
    return [
      credentials.element, shown.assumedRoleUser,
      XMLElement("PackedPolicySize", String(session.utilization)),
      XMLElement("SessionTokenUtilization", String(session.utilization)),
      XMLElement("SessionTokenSize", String(credentials.sessionToken.utf8.count)),
    ] + (session.sourceIdentity.map { [XMLElement("SourceIdentity", $0)] } ?? [])
  }

  /// The role, once it was found to trust the caller, whose own policies allow the call.
  private func trustingRole(
    _ call: RoleHop, _ source: RoleSession
  ) throws(ServiceError) -> Role {
    let request = AccessRequest(action: "sts:AssumeRole", resource: call.roleARN)
    try require(request, of: source)
    guard let role = roles[call.roleARN], role.trust.names(source),
      role.trust.externalID == nil || role.trust.externalID == call.externalID
    else { throw SandboxState.notAuthorized(source.arn, request) }
    for (action, isAllowed) in call.wants where !role.trust[keyPath: isAllowed] {
      throw SandboxState.notAuthorized(
        source.arn, AccessRequest(action: action, resource: call.roleARN))
    }
    if let identity = source.sourceIdentity, let other = call.sourceIdentity, identity != other {
      throw SandboxState.notAuthorized(
        source.arn, AccessRequest(action: "sts:SetSourceIdentity", resource: call.roleARN))
    }
    return role
  }
}
