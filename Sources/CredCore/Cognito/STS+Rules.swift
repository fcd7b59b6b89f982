extension STS.RoleQuery {
  /// The limits of the STS API reference, so that a mistake is named before any call.
  func check() throws(InvalidInput) {
    try Self.check(arn: roleARN, "RoleArn")
    guard (2...64).contains(sessionName.utf8.count),
      sessionName.holdsOnlyLettersDigits(or: "_+=,.@-")
    else {
      throw InvalidInput(
        field: "RoleSessionName", reason: "is not 2 to 64 letters, digits or any of _+=,.@-")
    }
    if let duration, !STS.durations.contains(duration) {
      throw InvalidInput(field: "DurationSeconds", reason: "is not 900 to 43200")
    }
    if let policy, !(1...STS.maximumPolicyLength).contains(policy.unicodeScalars.count) {
      throw InvalidInput(field: "Policy", reason: "is empty or over 2048 characters")
    }
    guard policyARNs.count <= STS.maximumPolicyARNs else {
      throw InvalidInput(field: "PolicyArns", reason: "are more than \(STS.maximumPolicyARNs)")
    }
    for arn in policyARNs { try Self.check(arn: arn, "PolicyArns") }
  }

  private static func check(arn: String, _ field: String) throws(InvalidInput) {
    guard (20...2048).contains(arn.unicodeScalars.count), arn.hasPrefix("arn:") else {
      throw InvalidInput(field: field, reason: "is no ARN of 20 to 2048 characters")
    }
  }
}
