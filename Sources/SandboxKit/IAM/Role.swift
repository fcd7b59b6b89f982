/// An IAM role: whom it trusts, and what it may do.
struct Role: Sendable, Equatable {
  /// Sessions of other roles that may assume it.
  struct Trust: Sendable, Equatable {
    /// ARNs of roles, or of accounts (`arn:aws:iam::ACCOUNT:root`).
    var principals: Set<String> = []
    /// The condition on `sts:ExternalId`.
    var externalID: String?
    /// Whether it allows `sts:TagSession`.
    var allowsTags = false
    /// Whether it allows `sts:SetSourceIdentity`.
    var allowsSourceIdentity = false
    /// Users of OpenID Connect providers of the role's account.
    var openID: [OpenIDTrust] = []

    func names(_ caller: RoleSession) -> Bool {
      let partition = Role.part(1, of: caller.role)
      return principals.contains(caller.role)
        || principals.contains("arn:\(partition):iam::\(caller.account):root")
    }
  }

  let arn: String
  /// The identity pool whose tokens the role trusts: the condition on `aud`.
  var pool: String?
  /// The condition on `amr`: `authenticated`, else `unauthenticated`.
  var trustsAuthenticated = true
  /// Seconds. IAM allows 3600 to 43200.
  var maximumSessionDuration = 3600
  /// May be asked for as CustomRoleArn.
  var isCustom = false
  var trust = Trust()
  /// Its identity policies.
  var policies = [PolicyDocument.allowing(["*"])]

  init(arn: String, pool: String? = nil) {
    self.arn = arn
    self.pool = pool
  }

  /// A part of an ARN, between its colons; empty where there are fewer.
  static func part(_ index: Int, of arn: String) -> String {
    let parts = arn.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false)
    return parts.indices.contains(index) ? String(parts[index]) : ""
  }
}

extension Role {
  /// Reads a role of a seed, or of `POST /control/role`.
  init(_ reader: FieldReader) throws(ServiceError) {
    var fields = reader
    let arn = try fields.text("Arn")
    guard arn.hasPrefix("arn:"), Role.part(5, of: arn).hasPrefix("role/") else {
      throw fields.fault("Arn", "must be the ARN of a role")
    }
    self.init(arn: arn, pool: try fields.optionalText("Pool"))
    trustsAuthenticated = try fields.bool("Authenticated") ?? trustsAuthenticated
    maximumSessionDuration =
      try fields.integer("MaximumSessionDuration", in: 3600...43_200) ?? maximumSessionDuration
    isCustom = try fields.bool("Custom") ?? isCustom
    trust.principals = Set(try fields.texts("TrustedPrincipals") ?? [])
    trust.externalID = try fields.optionalText("ExternalId")
    trust.allowsTags = try fields.bool("TagSession") ?? false
    trust.allowsSourceIdentity = try fields.bool("SetSourceIdentity") ?? false
    for trust in try fields.objects("OpenIDConnect") ?? [] {
      self.trust.openID.append(try OpenIDTrust(trust))
    }
    if let policy = fields.json("Policy") { policies = [try PolicyDocument(policy)] }
    try fields.finish()
    guard pool != nil || !trust.principals.isEmpty || !trust.openID.isEmpty else {
      throw fields.fault("Pool", "or TrustedPrincipals or OpenIDConnect is required")
    }
  }
}
