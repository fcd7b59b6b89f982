/// Refusals in which AWS names the kind of policy that denies a call (IAM user guide, "Troubleshoot access
/// denied error messages"). The advice goes by that kind. Where the text names none, the rows of the
/// operation hold.
extension FailureTable {
  /// Of the calls that a source's credentials sign.
  static let denialsOfSource =
    (policies(
      of: "the source's role",
      session: "in policy_file, if it is yours; Cognito's policy for guests cannot be changed")
    + organization).flatMap { $0.rows(denial) } + trust

  /// Of the calls that a token alone carries: nobody's own policies are in the way.
  static let denialsOfToken = organization.flatMap { $0.rows(denial) } + trust

  /// Of the calls that developer credentials sign.
  static let denialsOfKeys =
    (policies(
      of: "the developer credentials", session: "where they are made") + organization).flatMap {
      $0.rows { refusedKeys("AccessDeniedException", saying: $0, $1) }
    }

  private static func denial(_ saying: String, _ message: String) -> Row {
    Row(
      "AccessDenied", saying: saying, .poolMisconfigured, .poolMisconfigured, .operatorMustAct,
      message)
  }

  /// - Parameter location: where a session's policy is changed.
  private static func policies(of caller: String, session location: String) -> [DenyingPolicy] {
    [
      DenyingPolicy("identity-based policy", "an identity-based policy of \(caller)"),
      DenyingPolicy("permissions boundary", "the permissions boundary of \(caller)"),
      DenyingPolicy("session policy", "a session policy of \(caller)", location: location),
    ]
  }

  private static let organization = [
    DenyingPolicy(
      "service control policy", "a service control policy of the organization",
      location: "at the account that calls"),
    DenyingPolicy(
      "resource control policy", "a resource control policy of the organization",
      location: "at the account that is called"),
    DenyingPolicy(
      "vpc endpoint policy", "the policy of the VPC endpoint", location: "in this host's network"),
  ]

  /// The operation's rows say what a trust policy lacks.
  private static let trust = ["role trust policy", "resource-based policy"].map {
    let policy = DenyingPolicy($0, "the role's trust policy")
    return denial(policy.denies, policy.change)
  }
}

/// A kind of policy that may deny a call.
private struct DenyingPolicy {
  /// AWS's words, in small letters.
  let words: String
  let name: String
  /// Where it is to be changed.
  let location: String

  init(_ words: String, _ name: String, location: String = "there") {
    self.words = words
    self.name = name
    self.location = location
  }

  /// "… because no identity-based policy allows the sts:AssumeRole action".
  var lacks: String { "no \(words) allows" }

  /// "… with an explicit deny in an identity-based policy: arn:aws:iam::123456789012:policy/NAME".
  var denies: String { "explicit deny in…\(words)" }

  /// - Parameter row: a row for what AWS says, with its message.
  func rows(
    _ row: (_ saying: String, _ message: String) -> FailureTable.Row
  ) -> [FailureTable.Row] {
    [row(lacks, allow), row(denies, change)]
  }

  var allow: String { ": \(name) does not allow the call: allow its action \(location)" }
  var change: String { ": \(name) forbids the call: change its Deny statement \(location)" }
}
