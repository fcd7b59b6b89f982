import CredCore
import TestSupport

@testable import CredService

/// A user pool that answers in turn what a test has written down; all else goes to the fixture's own
/// upstreams.
final class ScriptedPool {
  static let client = "1sandboxclient234567890abc"
  static let id = "us-east-1_Sandbox"

  var answers: [FakeHTTP.Answer] = []
  /// The pool's requests, in order.
  private(set) var requests: [HTTPRequest] = []

  init(_ fixture: ServiceFixture, _ answers: [FakeHTTP.Answer] = []) {
    self.answers = answers
    let upstreams = fixture.host.upstreams
    fixture.host.http.answer = { [self] request in
      guard request.header("X-Amz-Target")?.hasPrefix("AWSCognitoIdentityProviderService.") == true
      else { return upstreams.answer(request) }
      requests.append(request)
      return self.answers.isEmpty ? .failure(.connect) : self.answers.removeFirst()
    }
  }

  static func ok(_ body: String, after time: Duration = .zero) -> FakeHTTP.Answer {
    .reply(200, body, after: time)
  }

  static func error(_ name: String, _ message: String = "") -> FakeHTTP.Answer {
    .reply(400, #"{"__type":"\#(name)","message":"\#(message)"}"#)
  }

  static let verifier = challenge(
    "PASSWORD_VERIFIER",
    #"{"SALT":"7d","SRP_B":"5","SECRET_BLOCK":"AAAA","USER_ID_FOR_SRP":"alice"}"#)
  static let sms = challenge("SMS_MFA", #"{"CODE_DELIVERY_DESTINATION":"+***99"}"#)

  static func challenge(
    _ name: String, _ parameters: String = "{}", after time: Duration = .zero
  ) -> FakeHTTP.Answer {
    ok(
      #"{"ChallengeName":"\#(name)","Session":"a-session-of-twenty-bytes","#
        + #""ChallengeParameters":\#(parameters)}"#, after: time)
  }

  /// The end of a sign-in.
  static func tokens(
    at time: WallTime, more: String = "", after delay: Duration = .zero
  ) -> FakeHTTP.Answer {
    ok(
      #"{"AuthenticationResult":{"IdToken":"\#(token("id", time))","#
        + #""AccessToken":"\#(token("access", time))","RefreshToken":"refresh-token","#
        + #""ExpiresIn":3600\#(more)}}"#, after: delay)
  }

  private static func token(_ use: String, _ time: WallTime) -> String {
    let now = time.milliseconds / 1000
    let (owner, name) = use == "id" ? ("aud", "cognito:username") : ("client_id", "username")
    let claims =
      #"{"sub":"s-1","token_use":"\#(use)","\#(owner)":"\#(client)","\#(name)":"alice","#
      + #""iss":"https://cognito-idp.us-east-1.amazonaws.com/\#(id)","#
      + #""iat":\#(now),"exp":\#(now + 3600),"auth_time":\#(now)}"#
    return SampleJWT.text(claims)
  }
}

extension Configured {
  /// Profiles whose users sign in at a user pool.
  static func scriptedPool(
    _ profiles: [String] = ["default"], backend: String = "", profile: String = ""
  ) -> String {
    """
    [backend staff]
    type = user-pool
    user_pool_id = \(ScriptedPool.id)
    client_id = \(ScriptedPool.client)
    user_pool_endpoint = http://127.0.0.1:4599
    timeout = 2s
    \(backend)

    """
      + profiles.map { name in
        """
        [profile \(name)]
        identity_pool_id = \(FakeUpstreams.pool)
        backend = staff
        cognito_endpoint = http://127.0.0.1:4599
        \(profile)

        """
      }.joined()
  }
}
