/// Errors of AssumeRoleWithWebIdentity for a provider's own token (STS API reference). What is wrong is set
/// in IAM: its OpenID Connect provider, and the role's trust policy.
extension FailureTable {
  static let direct: [Row] =
    [
      Row(
        "ExpiredTokenException", .newTokenOnce, .tokenRejected, .expected,
        " says the ID token has expired: sign in again; if it is of web_identity_token_file, check what "
          + "writes that file"),
      iam(
        "InvalidIdentityToken", saying: "No OpenIDConnect provider found",
        " finds no OpenID Connect provider for the token's issuer in the role's account: make one in IAM "
          + "with that issuer's URL (aws iam create-open-id-connect-provider)"),
      iam(
        "InvalidIdentityToken", saying: "Incorrect token audience",
        " says the token is for another client: add the client_id to the OpenID Connect provider in IAM "
          + "(aws iam add-client-id-to-open-id-connect-provider)"),
      Row(
        "InvalidIdentityToken", .newTokenOnce, .tokenRejected, .expected,
        " does not accept the ID token: sign in again; if this stays, check that its issuer publishes its "
          + "keys on the internet, and signs with RS or ES"),
      iam(
        "AccessDenied",
        " may not assume the role: check role_arn, and let the role's trust policy name the OpenID "
          + "Connect provider in IAM (Federated), allow sts:AssumeRoleWithWebIdentity, and take this aud "
          + "and sub"),
    ] + sts

  private static func iam(_ name: String, saying: String = "", _ message: String) -> Row {
    Row(name, saying: saying, .poolMisconfigured, .poolMisconfigured, .operatorMustAct, message)
  }
}

/// Errors of STS's signed calls, GetScopedCredentials and AssumeRole, which a source's credentials sign
/// (STS API reference, and botocore's model of 2026-11-19).
extension FailureTable {
  static let scope: [Row] =
    [
      sourceTooOld("InsufficientSessionLifetime"),
      Row(
        "AccessDenied", .poolMisconfigured, .poolMisconfigured, .operatorMustAct,
        " does not let the source's role narrow itself: allow sts:GetScopedCredentials to it, or use a "
          + "second role (role_arn with policy_file)"),
      Row(
        "InvalidAction", .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
        " does not know GetScopedCredentials here: use a second role (role_arn with policy_file)"),
    ] + signedCall

  static let hop: [Row] =
    [
      Row(
        "AccessDenied", .poolMisconfigured, .poolMisconfigured, .operatorMustAct,
        " may not assume the role: let its trust policy allow the source's role sts:AssumeRole, and "
          + "sts:TagSession and sts:SetSourceIdentity where the profile sets them"),
      regionOff, tooLongSession,
      Row(
        "InvalidAction", .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
        " does not know AssumeRole here: check sts_endpoint"),
    ] + signedCall

  private static let signedCall: [Row] = [
    sourceTooOld("ExpiredToken"), sourceTooOld("ExpiredTokenException"),
    sourceTooOld("InvalidClientTokenId"), sourceTooOld("InvalidSubjectCredentials"),
    unreadablePolicy,
    Row(
      "PackedPolicyTooLarge", .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
      " finds that the policy and the tags do not fit into the session's token: shorten them"),
    Row(
      "ValidationError", .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
      " refuses a parameter: check the profile's keys"),
    signatureTime("SignatureDoesNotMatch", saying: "Signature expired"),
    signatureTime("SignatureDoesNotMatch", saying: "Signature not yet current"),
    signatureTime("RequestExpired"),
    Row(
      "SignatureDoesNotMatch", .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
      " finds the signature wrong: check region and sts_endpoint"),
    Row(
      "IncompleteSignature", .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
      " finds the signature not complete: does sts_endpoint pass all headers on?"),
    Row(
      "MissingAuthenticationToken", .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
      " got no signature: does sts_endpoint pass all headers on?"),
  ]

  /// The source's credentials are renewed, once.
  private static func sourceTooOld(_ name: String) -> Row {
    Row(
      name, .newTokenOnce, .poolMisconfigured, .operatorMustAct,
      " does not take the source's credentials, not even new ones")
  }

  private static func signatureTime(_ name: String, saying: String = "") -> Row {
    var row = Row(
      name, saying: saying, .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
      ": the signature's time is wrong; set this host's clock")
    row.signatureFault = .time
    return row
  }
}

extension UpstreamFailure {
  /// STS's answer may be wider than what was asked for, so nobody gets it.
  public static func refusedAnswer(_ fault: DerivedFault) -> UpstreamFailure {
    var failure = UpstreamFailure(
      upstream: .sts, failureClass: .poolMisconfigured, code: .poolMisconfigured,
      message: "STS's answer is refused: \(fault.text)", severity: .operatorMustAct)
    failure.reason = "AnswerRefused"
    return failure
  }

  /// The source of a derived session gave nothing.
  ///
  /// - Parameter last: the source's own last failure.
  public static func ofSource(
    _ error: ProtocolError, last: UpstreamFailure?
  ) -> UpstreamFailure {
    let own = last.flatMap { $0.code == error.code ? $0 : nil }
    let waits = own?.failureClass == .signInRequired || own == nil
    var failure = UpstreamFailure(
      upstream: own?.upstream ?? .sts,
      failureClass: waits
        ? .transient(retryAfter: error.retryAfter)
        : own?.failureClass ?? .transient(retryAfter: nil),
      code: error.code, message: "the profile's source gave nothing: \(error.message)",
      summary: "the profile's source gave nothing: \(error.forOthers.message)",
      severity: .expected)
    failure.reason = error.reason
    failure.isOfSource = true
    return failure
  }

  /// The source answered, but what it has is not of its present user, or has gone meanwhile.
  static let sourceHasNothing = UpstreamFailure(
    upstream: .sts, failureClass: .transient(retryAfter: nil), code: .cognitoUnavailable,
    message:
      "the profile's source has no credentials of its present identity yet; it is tried again",
    severity: .expected)

  /// A policy or a name cannot be made for this user.
  public static func unfitUser(_ input: InvalidInput) -> UpstreamFailure {
    UpstreamFailure(
      upstream: .sts, failureClass: .permanentConfiguration, code: .accessDenied,
      message: "this user cannot have these credentials: \(input)", severity: .operatorMustAct)
  }
}
