import TestSupport
import Testing

@testable import CredCore

/// What STS adds to its reply: the size of the session token, and what it knows of the end user.
struct STSMemberTests {
  private static let secret = "end-user-of-the-context"

  private static let more = """
    <PackedPolicySize>6</PackedPolicySize>
    <SessionTokenUtilization>6</SessionTokenUtilization>
    <SessionTokenSize>1024</SessionTokenSize>
    <SourceIdentity>\(String(repeating: "s", count: 256))</SourceIdentity>
    <TrustedIdentityPropagationContext>
      <OriginIdentity><Subject>\(secret)</Subject><SubjectType>user</SubjectType></OriginIdentity>
      <TransactionContext><IdentityProvider><entry><key>\(secret)</key><value>\(secret)</value></entry>
      </IdentityProvider></TransactionContext>
    </TrustedIdentityPropagationContext>
    """

  @Test func areReadOver() throws {
    let body = STSTests.body.replacing(
      "<Audience/>", with: "<Audience/>\(Self.more)")
    let plain = try STS.credentials(from: Samples.reply(200, STSTests.body))
    let reply = try STS.credentials(from: Samples.reply(200, body))
    expect(reply.credentials, equals: plain.credentials)
  }

  /// Not even where the reply is no use.
  @Test func theEndUserIsInNoMessage() {
    let body = STSTests.body.replacing("<Audience/>", with: Self.more)
      .replacing("<SessionToken>", with: "<Other>").replacing("</SessionToken>", with: "</Other>")
    let failure = failure { () throws(UpstreamFailure) in
      _ = try STS.credentials(from: Samples.reply(200, body))
    }
    expect(failure != nil && failure?.message.contains(Self.secret) == false)
  }
}
