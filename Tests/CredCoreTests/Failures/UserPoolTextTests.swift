import TestSupport
import Testing

@testable import CredCore

/// What is read of an error of a user pool, and which of its words a client sees.
struct UserPoolTextTests {
  private static let refused = "NotAuthorizedException"
  private static let parameter = "InvalidParameterException"

  @Test func aTextThatMayQuoteAValueIsLeftOut() {
    let said = "1 validation error detected: Value 'hunter2' at 'password' failed to satisfy"
    for purpose in UserPoolPurpose.allCases {
      let failure = UpstreamFailure.ofPool(purpose, Self.parameter, said)
      expect(!failure.message.contains("hunter2"), "\(purpose)")
      expect(!failure.message.contains("validation"), "\(purpose)")
    }
    expect(!UpstreamFailure.ofPool(.signIn, Self.refused, "hunter2").message.contains("hunter2"))
  }

  @Test func aTextThatHelpsIsShown() {
    let rows: [(UserPoolPurpose, String, String)] = [
      (.newAccount, "InvalidPasswordException", "Password must have symbol characters"),
      (.signIn, "UserLambdaValidationException", "PreAuthentication failed with error closed."),
      (
        .newAccount, Self.parameter,
        "Attributes did not conform to the schema: email: The attribute is required"
      ),
      (.signIn, Self.parameter, "Invalid attributes given, birthdate is missing"),
      (.ownAccount, Self.parameter, "Invalid phone number format."),
    ]
    for (purpose, name, said) in rows {
      expect(
        UpstreamFailure.ofPool(purpose, name, said).message.hasSuffix("(\(name): \(said))"),
        "\(said)")
    }
  }

  @Test func whatWasSentIsHiddenInATextThatIsShown() {
    let said = "Password did not conform with policy: Kq7vXw2n is too short"
    let failure = UpstreamFailure.ofPool(
      .newAccount, "InvalidPasswordException", said, hiding: [Secret("Kq7vXw2n")])
    expect(!failure.message.contains("Kq7v"))
    expect(failure.message.contains("… is too short"))
  }

  @Test func allSpellingsOfAnErrorAreRead() {
    let headers = ["x-amzn-ErrorType": "NotAuthorizedException:http://internal.amazon.com/"]
    let replies = [
      Samples.reply(400, #"{"__type":"NotAuthorizedException","message":"User is disabled."}"#),
      Samples.reply(400, #"{"__type":"a.b#NotAuthorizedException","Message":"User is disabled"}"#),
      Samples.reply(400, #"{"message":"user is disabled"}"#, headers),
    ]
    for reply in replies {
      let failure = UpstreamFailure.userPool(reply, from: .backend("staff"), .signIn)
      expect(failure.code, equals: .backendRejected)
    }
  }

  @Test func onlyARealThrottleCountsAgainstThePool() {
    expect(UpstreamFailure.ofPool(.signIn, "LimitExceededException", "").evidence, equals: .none)
    expect(
      UpstreamFailure.ofPool(.signIn, Self.refused, "Password attempts exceeded").evidence,
      equals: .none)
    expect(
      UpstreamFailure.ofPool(.signIn, "TooManyRequestsException", "Rate exceeded").evidence,
      equals: .likely)
    expect(
      UpstreamFailure.ofPool(.signIn, "InternalErrorException", "", status: 500).evidence,
      equals: .likely
    )
  }

  @Test func theServersPauseIsLongerThanOurs() {
    let body = #"{"__type":"LimitExceededException"}"#
    let reply = Samples.reply(400, body, ["Retry-After": "900"])
    let failure = UpstreamFailure.userPool(reply, from: .backend("staff"), .signIn)
    expect(failure.failureClass, equals: .throttled(retryAfter: .seconds(900)))
    expect(failure.protocolError.retryAfter, equals: .seconds(900))
  }
}
