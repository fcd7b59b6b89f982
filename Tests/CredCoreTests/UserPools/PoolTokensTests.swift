import SeededRandom
import TestSupport
import Testing

@testable import CredCore

struct PoolTokensTests {
  private func tokens(_ body: String) throws -> ProviderTokens? {
    guard case .tokens(let tokens) = try PoolSamples.read(body).step else { return nil }
    return tokens
  }

  @Test func claimsAreReadAndTokensPassedOn() throws {
    let id = PoolSamples.jwt(.id, #","cognito:username":"u-1","email":"a@b.c""#)
    let access = PoolSamples.jwt(
      .access,
      #","username":"u-1","scope":"openid aws.cognito.signin.user.admin","#
        + #""device_key":"\#(PoolSamples.deviceKey)""#)
    let body = PoolSamples.tokens(
      id: id, access: access,
      more: #","RefreshToken":"eyJjdHkiOiJKV1Q","NewDeviceMetadata":{"#
        + #""DeviceKey":"\#(PoolSamples.deviceKey)","DeviceGroupKey":"-Gr0up"}"#)
    let reply = try PoolSamples.read(body, CognitoReplyTests.date)
    expect(reply.serverTime, equals: WallTime(milliseconds: 1_767_323_045_000))
    let tokens = try #require(try tokens(body))
    expect(tokens.id.token, equals: Secret(id))
    expect(tokens.id.username, equals: "u-1")
    expect(tokens.id.subject, equals: "s-1")
    expect(!ProviderToken.mayChangeAccount(tokens.id.token))
    expect(tokens.id.expiration, equals: WallTime(milliseconds: 1_767_326_645_000))
    expect(tokens.id.signedIn, equals: WallTime(milliseconds: 1_767_320_000_000))
    expect(tokens.id.lifetime(at: nil), equals: .seconds(3600))
    expect(tokens.access.token, equals: Secret(access))
    expect(tokens.access.username, equals: "u-1")
    expect(ProviderToken.mayChangeAccount(tokens.access.token))
    expect(tokens.access.deviceKey, equals: PoolSamples.deviceKey)
    expect(tokens.refresh, equals: Secret("eyJjdHkiOiJKV1Q"))
    expect(tokens.accessLifetime, equals: .seconds(3600))
    expect(tokens.newDevice?.key, equals: PoolSamples.deviceKey)
    expect(tokens.newDevice?.groupKey, equals: "-Gr0up")
  }

  @Test func aRenewalMayBringNoRefreshToken() throws {
    let client = try PoolSamples.client()
    let tokens = try client.renewal(from: Samples.reply(200, PoolSamples.tokens()))
    expect(tokens.refresh == nil)
    expect(tokens.newDevice == nil)
    #expect(throws: UpstreamFailure.self) {
      try client.renewal(from: Samples.reply(200, PoolSamples.challenge("PASSWORD")))
    }
  }

  @Test func anEmulatorsTokenNeedsNoClaims() throws {
    let tokens = try #require(try tokens(PoolSamples.tokens(id: "opaque", access: "opaque2")))
    expect(tokens.id.expiration == nil)
    expect(tokens.id.lifetime(at: WallTime(milliseconds: 0)) == nil)
  }

  /// A trigger of the pool may remove claims.
  @Test func missingClaimsAreNotMissed() throws {
    let bare = Samples.jwt(#"{"exp":1767326645}"#)
    let tokens = try #require(try tokens(PoolSamples.tokens(id: bare, access: bare)))
    let server = WallTime(milliseconds: 1_767_326_600_000)
    expect(tokens.id.lifetime(at: server), equals: .seconds(45))
    expect(tokens.id.lifetime(at: server + .seconds(60)), equals: .zero)
    expect(tokens.id.lifetime(at: nil) == nil)
  }

  @Test func aTokenOfAnotherUseClientOrPoolIsRefused() throws {
    let wrong: [(String, String)] = [
      (PoolSamples.jwt(.id, use: "access"), PoolSamples.jwt(.access)),
      (PoolSamples.jwt(.access), PoolSamples.jwt(.access)),
      (PoolSamples.jwt(.id), PoolSamples.jwt(.id)),
      (PoolSamples.jwt(.id, client: "other"), PoolSamples.jwt(.access)),
      (PoolSamples.jwt(.id), PoolSamples.jwt(.access, client: "other")),
      (PoolSamples.jwt(.id, pool: "eu-west-1_Other"), PoolSamples.jwt(.access)),
      (PoolSamples.jwt(.id, pool: "x\(PoolSamples.poolText)"), PoolSamples.jwt(.access)),
      (PoolSamples.jwt(.id), PoolSamples.jwt(.access, pool: "eu-west-1_Other")),
    ]
    for (id, access) in wrong {
      #expect(throws: UpstreamFailure.self) {
        try tokens(PoolSamples.tokens(id: id, access: access))
      }
    }
  }

  @Test(arguments: [
    #","RefreshToken":7"#, #","RefreshToken":"a b""#,
    #","NewDeviceMetadata":{}"#, #","NewDeviceMetadata":{"DeviceKey":"x","DeviceGroupKey":"g"}"#,
    #","NewDeviceMetadata":{"DeviceKey":"eu-west-1_ab"}"#,
    #","NewDeviceMetadata":{"DeviceKey":"eu-west-1_ab","DeviceGroupKey":"a b"}"#,
  ])
  func aMalformedResultIsRefused(more: String) {
    #expect(throws: UpstreamFailure.self) { try PoolSamples.read(PoolSamples.tokens(more: more)) }
  }

  @Test func anEmptyRefreshTokenIsNone() throws {
    let read = try PoolSamples.read(PoolSamples.tokens(more: #","RefreshToken":"""#))
    guard case .tokens(let tokens) = read.step else { return expect(Bool(false), "no tokens") }
    expect(tokens.refresh == nil)
  }

  @Test(arguments: ["", "a b", "line\\nbreak"])
  func aTokenIsPrintable(token: String) {
    #expect(throws: UpstreamFailure.self) { try PoolSamples.read(PoolSamples.tokens(id: token)) }
    #expect(throws: UpstreamFailure.self) {
      try PoolSamples.read(PoolSamples.tokens(access: token))
    }
  }
}
