@testable import CredCore

/// Sample values for the tests of user pools.
enum PoolSamples {
  static let poolText = "eu-west-1_AbCdEf123"
  static let deviceKey = "eu-west-1_0f0e0d0c-0b0a-4908-8706-050403020100"
  static let token = Secret("access.token")
  static let signature = "c2lnbmF0dXJl"

  static func client(secret: String? = nil) throws -> UserPoolClient {
    let pool = try UserPoolID(poolText)
    return try UserPoolClient(
      backend: "staff", host: AWSHost(.cognitoUserPools, region: pool.region), pool: pool,
      id: "1example23456789", secret: secret.map { Secret($0) })
  }

  static func user(_ client: UserPoolClient, _ name: String = "alice") throws -> PoolUsername {
    try client.username(name, digests: TestCrypto())
  }

  static var claim: SRPClaim {
    SRPClaim(
      secretBlock: Secret("AAAA"), signature: Secret(signature),
      timestamp: "Sun Nov 5 00:30:09 UTC 2023")
  }

  /// An ID token or an access token with these claims beside the usual ones.
  static func jwt(
    _ kind: ProviderToken.Kind, _ claims: String = "", pool: String = poolText,
    client: String = "1example23456789", use: String? = nil
  ) -> String {
    let owner = kind == .id ? "aud" : "client_id"
    return Samples.jwt(
      #"{"sub":"s-1","iss":"https://cognito-idp.eu-west-1.amazonaws.com/\#(pool)","#
        + #""token_use":"\#(use ?? kind.rawValue)","\#(owner)":"\#(client)","#
        + #""iat":1767323045,"exp":1767326645,"auth_time":1767320000\#(claims)}"#)
  }

  /// A reply with tokens.
  static func tokens(
    id: String = jwt(.id), access: String = jwt(.access), more: String = ""
  ) -> String {
    #"{"AuthenticationResult":{"AccessToken":"\#(access)","IdToken":"\#(id)","ExpiresIn":3600,"#
      + #""TokenType":"Bearer"\#(more)},"ChallengeParameters":{}}"#
  }

  /// A reply with a challenge.
  static func challenge(
    _ name: String, _ parameters: String = "{}", session: String = "a-session-of-twenty-bytes",
    more: String = ""
  ) -> String {
    #"{"ChallengeName":"\#(name)","Session":"\#(session)","#
      + #""ChallengeParameters":\#(parameters)\#(more)}"#
  }

  static func read(
    _ body: String, _ headers: [String: String] = [:]
  ) throws -> PoolSignInReply {
    try client().signInReply(from: Samples.reply(200, body, headers), to: .signIn)
  }

  static func readChallenge(_ body: String) throws -> PoolChallenge? {
    guard case .challenge(let challenge) = try read(body).step else { return nil }
    return challenge
  }
}
