/// The control path of what a role, a bucket and a pair of keys may do.
extension SandboxState {
  static let maximumRoles = 1024

  /// `POST /control/role`: makes a role, or puts it in the place of one with its ARN.
  mutating func setRole(_ reader: FieldReader) throws(ServiceError) -> JSON {
    let role = try Role(reader)
    guard roles[role.arn] != nil || roles.count < SandboxState.maximumRoles else {
      throw ServiceError("LimitExceeded", "more than \(SandboxState.maximumRoles) roles")
    }
    roles[role.arn] = role
    return ["Arn": .string(role.arn)]
  }

  /// `POST /control/bucket`: whose a bucket is.
  mutating func setBucket(_ reader: FieldReader) throws(ServiceError) -> JSON {
    var fields = reader
    let name = try fields.text("Bucket")
    let account = try fields.text("Account")
    try fields.finish()
    guard objects.setOwner(of: name, account) else {
      throw ServiceError("LimitExceeded", "more than \(ObjectStore.maximumBuckets) buckets")
    }
    return ["Bucket": .string(name), "Account": .string(account)]
  }

  /// `POST /control/sts`: whether GetScopedCredentials wants a permission. AWS does not say.
  mutating func setSTS(_ reader: FieldReader) throws(ServiceError) -> JSON {
    var fields = reader
    scopingWantsPermission =
      try fields.bool("ScopedCredentialsPermission") ?? scopingWantsPermission
    try fields.finish()
    return ["ScopedCredentialsPermission": .bool(scopingWantsPermission)]
  }

  /// `POST /control/may`: whether credentials of an access key may do something, by all policies.
  func answerMay(_ reader: FieldReader) throws(ServiceError) -> JSON {
    var fields = reader
    let key = try fields.text("AccessKeyId")
    let request = AccessRequest(
      action: try fields.text("Action"), resource: try fields.text("Resource"),
      values: Dictionary(
        (try fields.map("Values") ?? [:]).map { ($0.key.lowercased(), $0.value) }
      ) { _, last in last })
    try fields.finish()
    guard let grant = mint.grant(of: key) else {
      throw ServiceError(status: 404, "NotFound", "no such access key")
    }
    return ["Allowed": .bool(allows(request, to: grant.session))]
  }
}
