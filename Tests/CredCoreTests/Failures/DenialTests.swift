import TestSupport
import Testing

@testable import CredCore

/// A refusal by IAM: AWS's text is shown whole, and the advice goes by the policy that it names.
struct DenialTests {
  private static let id = "5arhuwacg4o48yxyin4kcrony3b7q2mzt6"
  private static let policy = "arn:aws:iam::123456789012:policy/team-7/DenyAllOfQuarter32026Reports"
  private static let caller =
    "arn:aws:sts::123456789012:assumed-role/app-7-prod-eu-west-1-a/i-0123456789abcdef0"
  private static let link =
    "https://us-east-1.console.aws.amazon.com/iam/home?region=us-east-1#/authorization-details/\(id)"

  private static func text(_ reason: String) -> String {
    "User: \(caller) is not authorized to perform: sts:AssumeRole on resource: "
      + "arn:aws:iam::210987654321:role/reports-7 \(reason)"
  }

  private static let denied = text(
    "with an explicit deny in an identity-based policy: \(policy). Go to \(link) for complete details, or "
      + "call the GetRequestAuthorizationDetails API with the following authorization id: \(id)")

  private func failure(
    _ text: String, name: String = "AccessDenied", sent: SentSecrets = SentSecrets(),
    _ read: (HTTPReply) throws(UpstreamFailure) -> Void
  ) -> UpstreamFailure? {
    var reply = Samples.reply(
      403,
      "<ErrorResponse><Error><Code>\(name)</Code><Message>\(text)</Message></Error></ErrorResponse>"
    )
    reply.sent = sent
    do throws(UpstreamFailure) {
      try read(reply)
      return nil
    } catch {
      return error
    }
  }

  private func hop(_ text: String, sent: SentSecrets = SentSecrets()) -> String {
    failure(text, sent: sent) { reply throws(UpstreamFailure) in _ = try STS.assumed(from: reply) }?
      .message ?? ""
  }

  @Test func whatAWSSaysIsShownWhole() {
    expect(
      hop(Self.denied),
      equals:
        "STS: an identity-based policy of the source's role forbids the call: change its Deny "
        + "statement there (AccessDenied: \(Self.denied))")
    let long = String(repeating: "a1", count: 128)
    let longest = Self.denied.replacing(Self.id, with: long)
    expect(hop(longest).hasSuffix("authorization id: \(long))"))
  }

  /// Only ids in their places are public.
  @Test func whatMayBeASecretIsHidden() {
    for secret in [
      "authorization: \(Self.id)", "the id: \(Self.id)", "/authorization-details/\(Self.id)",
      "authorization id: eyJhbGciOiJSUzI1NiJ9", "authorization id: \(Self.id)/\(Self.id)",
      "authorization id: wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY1",
      "https://h.console.aws.amazon.com/other/\(Self.id)", "arn:aws:s3:::\(Self.id)",
      "arn:aws:iam::123456789012:role/eyJhbGciOiJSUzI1NiJ9", "arn:aws:iam:\(Self.id)::role/x",
    ] {
      let shown = hop(Self.text("because of \(secret)."))
      expect(
        !shown.contains(Self.id) && !shown.contains("eyJ") && !shown.contains("wJalr"), "\(shown)")
    }
    let sent = SentSecrets([Secret(Self.id)])
    expect(!hop(Self.denied, sent: sent).contains(Self.id))
  }

  @Test(arguments: [
    (
      "no identity-based policy allows",
      "an identity-based policy of the source's role does not allow"
    ),
    ("no permissions boundary allows", "the permissions boundary of the source's role does not"),
    ("no session policy allows", "a session policy of the source's role does not allow the call"),
    ("no service control policy allows", "a service control policy of the organization does not"),
    ("no resource control policy allows", "a resource control policy of the organization does not"),
    ("no VPC endpoint policy allows", "the policy of the VPC endpoint does not allow the call"),
    ("no role trust policy allows", "may not assume the role: let its trust policy allow"),
    ("no resource-based policy allows", "may not assume the role: let its trust policy allow"),
  ])
  func whatNoPolicyAllowsIsAdvisedByItsKind(_ words: String, _ advice: String) {
    let shown = hop(Self.text("because \(words) the sts:AssumeRole action"))
    expect(shown.contains(advice), "\(shown)")
    expect(
      shown.contains("trust policy") == words.contains("role trust") || words.contains("based"))
  }

  @Test(arguments: [
    ("an identity-based policy", "an identity-based policy of the source's role forbids"),
    ("a permissions boundary", "the permissions boundary of the source's role forbids"),
    ("a session policy", "a session policy of the source's role forbids"),
    ("a service control policy", "a service control policy of the organization forbids"),
    ("a resource control policy", "a resource control policy of the organization forbids"),
    ("a VPC endpoint policy", "the policy of the VPC endpoint forbids"),
    ("the role trust policy", "the role's trust policy forbids"),
    ("a resource-based policy", "the role's trust policy forbids"),
  ])
  func anExplicitDenyIsAdvisedByItsKind(_ words: String, _ advice: String) {
    let shown = hop(Self.text("with an explicit deny in \(words)"))
    expect(shown.contains("STS: \(advice) the call: change its Deny statement"), "\(shown)")
  }

  @Test func otherCallsAreAdvisedInTheSameWay() {
    let boundary = Self.text(
      "because no permissions boundary allows the sts:GetScopedCredentials action")
    let scope = failure(boundary) { reply throws(UpstreamFailure) in
      _ = try STS.scoped(from: reply)
    }
    expect(scope?.message.contains("the permissions boundary of the source's role") ?? false)
    let control =
      "Not authorized to perform sts:AssumeRoleWithWebIdentity with an explicit deny in a "
      + "service control policy"
    for isDirect in [false, true] {
      let token = failure(control) { reply throws(UpstreamFailure) in
        _ = try STS.credentials(from: reply, isDirect: isDirect)
      }
      expect(
        token?.message.contains("a service control policy of the organization forbids") ?? false)
    }
    let keys = failure(Self.denied, name: "x") { _ throws(UpstreamFailure) in
      let json = Samples.reply(
        400, #"{"__type":"AccessDeniedException","message":"\#(Self.denied)"}"#)
      _ = try CognitoIdentity.developerToken(from: json, backend: "corp")
    }
    expect(keys?.message.contains("an identity-based policy of the developer credentials") ?? false)
    expect(keys?.message.contains(Self.link) ?? false, "\(keys?.message ?? "")")
  }
}
