/// The parameters of AssumeRoleWithWebIdentity, checked as the STS API reference gives them.
struct RoleAssumption {
  var roleARN: String
  var sessionName: String
  var token: String
  /// Seconds.
  var duration: Int
  var providerID: String?

  static let defaultDuration = 3600

  init(_ form: FormParameters) throws(ServiceError) {
    var violations: [String] = []
    func text(_ name: String, _ rule: InputRule) -> String {
      let member = name.prefix(1).lowercased() + name.dropFirst()
      guard let value = form[name] else {
        violations.append(
          "Value null at '\(member)' failed to satisfy constraint: Member must not be null")
        return ""
      }
      if let violation = rule.violation(of: value, at: member) { violations.append(violation) }
      return value
    }
    roleARN = text("RoleArn", .arn)
    sessionName = text("RoleSessionName", RoleAssumption.sessionNameRule)
    token = text("WebIdentityToken", RoleAssumption.tokenRule)
    providerID = form["ProviderId"]
    duration = RoleAssumption.defaultDuration
    if let text = form["DurationSeconds"] {
      guard let seconds = Int(text) else {
        throw ServiceError("ValidationError", "DurationSeconds is not a number: '\(text)'")
      }
      duration = seconds
      if !(900...43_200).contains(seconds) {
        violations.append(
          "Value '\(seconds)' at 'durationSeconds' failed to satisfy constraint: Member must have "
            + (seconds < 900
              ? "value greater than or equal to 900" : "value less than or equal to 43200"))
      }
    }
    if form["Policy"] != nil { _ = text("Policy", RoleAssumption.policyRule) }
    guard violations.isEmpty else {
      throw ServiceError("ValidationError", CognitoInput.summary(of: violations))
    }
    try RoleAssumption.checkPolicies(form)
  }

  private static let sessionNameRule = InputRule(2...64, pattern: #"[\w+=,.@-]*"#) {
    $0.utf8.allSatisfy { InputRule.isWord($0) || "+=,.@-".utf8.contains($0) }
  }
  private static let tokenRule = InputRule(4...20_000, isSensitive: true)
  private static let policyRule = InputRule(1...2048, isSensitive: true)
  private static let maximumPolicyARNs = 10

  private static func checkPolicies(_ form: FormParameters) throws(ServiceError) {
    if let policy = form["Policy"] {
      guard let document = JSON(parsing: Array(policy.utf8)), document["Statement"] != nil else {
        throw ServiceError("MalformedPolicyDocument", "Syntax errors in policy.")
      }
    }
    let arns = form.names.filter { $0.hasPrefix("PolicyArns.member.") && $0.hasSuffix(".arn") }
    guard arns.count <= maximumPolicyARNs else {
      throw ServiceError(
        "ValidationError", "Only \(maximumPolicyARNs) managed session policies may be passed.")
    }
    for name in arns where form[name]?.hasPrefix("arn:") != true {
      throw ServiceError("ValidationError", "\(form[name] ?? "") is invalid")
    }
  }
}
