/// An IAM role, with as much of its trust policy as web identities need.
struct Role: Sendable, Equatable {
  let arn: String
  /// The pool whose tokens the role trusts: the condition on `aud`.
  var pool: String
  /// The condition on `amr`: `authenticated`, else `unauthenticated`.
  var trustsAuthenticated: Bool
  /// Seconds. IAM allows 3600 to 43200.
  var maximumSessionDuration: Int
  /// May be asked for as CustomRoleArn.
  var isCustom: Bool

  /// The last part of the ARN.
  var name: String { String(arn.split(separator: "/").last ?? "") }

  /// The account in the ARN.
  var account: String {
    let parts = arn.split(separator: ":", omittingEmptySubsequences: false)
    return parts.count > 4 ? String(parts[4]) : ""
  }
}
