import FoundationEssentials

/// The parameters of GetScopedCredentials, checked as botocore's model of 2026-11-19 gives them.
struct ScopedCall {
  let policy: PolicyDocument?
  /// Bytes of the policy.
  let size: Int
  /// Seconds.
  let duration: Int?
  /// Characters of the session token, at least.
  let minimumTokenSize: Int

  init(_ form: FormParameters) throws(ServiceError) {
    var input = STSInput(form)
    let text = input.optionalText("Policy", .sessionPolicy)
    duration = try input.optionalInteger("DurationSeconds", in: 1...129_600)
    minimumTokenSize = try input.optionalInteger("MinimumSessionTokenSize", in: 0...4096) ?? 0
    _ = input.optionalText("ScopedSessionDescription", ScopedCall.description)
    if text == nil, duration == nil { input.report("Policy or DurationSeconds must be given") }
    try input.finish()
    policy = try text.map { (text) throws(ServiceError) in try PolicyDocument(text) }
    size = text?.utf8.count ?? 0
  }

  private static let description = InputRule(
    2...256, pattern: #"[\u0009\u000A\u000D\u0020-\u007E\u00A1-\u00FF]*"#
  ) {
    $0.unicodeScalars.allSatisfy {
      [9, 10, 13].contains($0.value) || (32...126).contains($0.value)
        || (161...255).contains($0.value)
    }
  }
}

extension SandboxState {
  /// The members of GetScopedCredentialsResult: the same session, with less permission or a shorter
  /// life.
  mutating func scopedCredentials(
    _ call: ScopedCall, of caller: SignedCaller, lying lie: STSLie?, at now: Date
  ) throws(ServiceError) -> [XMLElement] {
    var session = try caller.session()
    if scopingWantsPermission {
      try require(AccessRequest(action: "sts:GetScopedCredentials", resource: "*"), of: session)
    }
    let end = caller.grant?.expiration ?? now
    var expiration = end
    if let duration = call.duration {
      expiration = Date(timeIntervalSince1970: Double(now.epochSeconds + duration))
      guard expiration <= end else {
        throw ServiceError(
          "InsufficientSessionLifetime",
          "The requested DurationSeconds exceeds the remaining lifetime of the session.")
      }
    }
    if let policy = call.policy, lie != .unscoped {
      guard session.scopes.count < RoleSession.maximumScopes else {
        throw ServiceError(
          status: 403, "AccessDenied",
          "The session has \(RoleSession.maximumScopes) scope-down policies already.")
      }
      session.scopes.append(policy)
      try session.pack(call.size)
    }
    let size = max(mint.sessionTokenLength + session.packedSize, call.minimumTokenSize)
    let credentials = signedCredentials(
      session, for: caller, until: expiration, tokenLength: size, lying: lie, at: now)
    return members(session, credentials, lie)
  }

  private func members(
    _ session: RoleSession, _ credentials: TemporaryCredentials, _ lie: STSLie?
  ) -> [XMLElement] {
    let arn =
      lie == .otherSession
      ? "arn:aws:sts::\(session.account):assumed-role/somebody/else" : session.arn
    var members = [
      credentials.element,
      XMLElement(
        "SessionInfo",
        [XMLElement("ScopedSessionId", session.userID), XMLElement("Arn", arn)]),
      XMLElement("SessionTokenUtilization", String(session.utilization)),
      XMLElement("SessionTokenSize", String(credentials.sessionToken.utf8.count)),
      XMLElement("ScopedPoliciesCount", String(session.scopes.count)),
    ]
    if let identity = session.sourceIdentity {
      members.append(XMLElement("SourceIdentity", identity))
    }
    return members
  }
}
