import SeededRandom
import TestSupport
import Testing

@testable import CredCore

struct UserPoolReplyTests {
  private let client: UserPoolClient

  init() throws { client = try PoolSamples.client() }

  private static let details =
    #"{"Destination":"a***@e***","DeliveryMedium":"EMAIL","AttributeName":"email"}"#

  @Test func aNewAccountSaysWhereTheCodeWent() throws {
    let body = #"{"UserConfirmed":false,"UserSub":"s","CodeDeliveryDetails":\#(Self.details)}"#
    let result = try client.signedUp(from: Samples.reply(200, body))
    expect(!result.isConfirmed)
    expect(result.delivery, equals: .init(medium: "email", destination: "a***@e***"))
    let confirmed = try client.signedUp(from: Samples.reply(200, #"{"UserConfirmed":true}"#))
    expect(confirmed, equals: SignUpResult())
    #expect(throws: UpstreamFailure.self) { try client.signedUp(from: Samples.reply(200, "{}")) }
  }

  @Test(
    arguments: [
      (#"{"Destination":"+***1","DeliveryMedium":"SMS"}"#, "sms", "+***1"),
      (#"{"Destination":"a\r\n\u001b[2Jb","DeliveryMedium":"EMAIL"}"#, "email", "a [2Jb"),
      (
        #"{"Destination":"l***@long-name-of-company-1234567.example","DeliveryMedium":"EMAIL"}"#,
        "email", "l***@long-name-of-company-1234567.example"
      ),
      (#"{"Destination":"x","DeliveryMedium":"PIGEON"}"#, nil, nil), ("{}", nil, nil),
      ("null", nil, nil), (#"{"Destination":"","DeliveryMedium":"SMS"}"#, nil, nil),
    ] as [(String, String?, String?)])
  func whereACodeWent(details: String, medium: String?, destination: String?) throws {
    let delivery = try client.codeSent(
      from: Samples.reply(200, #"{"CodeDeliveryDetails":\#(details)}"#))
    expect(delivery?.medium, equals: medium)
    expect(delivery?.destination, equals: destination)
  }

  @Test func whatAnswersNothingMayBeEmpty() throws {
    for body in ["", "{}", #"{"Session":"s"}"#] {
      let reply = Samples.reply(200, body)
      try client.accountChanged(reply)
      try client.codeAccepted(reply)
      try client.endedSession(reply)
      expect(try !client.deviceConfirmed(from: reply))
      expect(try client.attributesUpdated(from: reply).isEmpty)
    }
    #expect(throws: UpstreamFailure.self) {
      try client.accountChanged(Samples.reply(200, "<html>welcome"))
    }
    #expect(throws: UpstreamFailure.self) { try client.accountChanged(Samples.reply(204, "")) }
  }

  @Test func aUserHasAttributesAndFactors() throws {
    let body =
      #"{"Username":"u-1","UserAttributes":[{"Name":"email","Value":"a@b.c"},{"Name":"n"}],"#
      + #""PreferredMfaSetting":"SMS_MFA","UserMFASettingList":["SMS_MFA","EMAIL_OTP",7]}"#
    let user = try client.user(from: Samples.reply(200, body))
    expect(user.username, equals: "u-1")
    expect(
      user.attributes,
      equals: [
        .init(name: "email", value: Secret("a@b.c")), .init(name: "n", value: Secret("")),
      ])
    expect(user.preferredMFA, equals: "SMS_MFA")
    expect(user.enabledMFA, equals: ["SMS_MFA", "EMAIL_OTP"])
    let bare = try client.user(from: Samples.reply(200, #"{"Username":"u"}"#))
    expect(bare.attributes.isEmpty && bare.preferredMFA == nil && bare.enabledMFA.isEmpty)
    for body in ["{}", #"{"Username":"u","UserAttributes":{}}"#] {
      #expect(throws: UpstreamFailure.self) { try client.user(from: Samples.reply(200, body)) }
    }
  }

  @Test func everyChangedAttributeMayHaveACode() throws {
    let body = #"{"CodeDeliveryDetailsList":[\#(Self.details),{},\#(Self.details)]}"#
    expect(try client.attributesUpdated(from: Samples.reply(200, body)).count, equals: 2)
    let one = #"{"CodeDeliveryDetails":\#(Self.details)}"#
    expect(
      try client.verificationCodeSent(from: Samples.reply(200, one))?.destination,
      equals: "a***@e***")
  }

  private let ofUser = SoftwareTokenOwner.user(accessToken: PoolSamples.token)

  @Test func anAuthenticatorAppGetsItsSecret() throws {
    let body = #"{"SecretCode":"GEZDGNBVGY3TQOJQ====","Session":"s"}"#
    let token = try client.softwareToken(from: Samples.reply(200, body), of: ofUser)
    expect(token.secret, equals: Secret("GEZDGNBVGY3TQOJQ===="))
    expect(token.session, equals: Secret("s"))
    let uri = "otpauth://totp/My%20Pool:a%40b.c?secret=GEZDGNBVGY3TQOJQ&issuer=My%20Pool"
    expect(token.uri(issuer: "My Pool", username: "a@b.c"), equals: Secret(uri))
    for secret in ["", "short", "GEZDGNBVGY3TQOJQ&issuer=x", String(repeating: "A", count: 257)] {
      #expect(throws: UpstreamFailure.self) {
        try client.softwareToken(
          from: Samples.reply(200, #"{"SecretCode":"\#(secret)"}"#), of: ofUser)
      }
    }
  }

  @Test func aWrongCodeOfAnAppComesInTwoShapes() throws {
    let success = Samples.reply(200, #"{"Status":"SUCCESS","Session":"s2"}"#)
    expect(try client.softwareTokenVerified(from: success, of: ofUser), equals: Secret("s2"))
    let signIn = SoftwareTokenOwner.signIn(session: Secret("s"))
    for (owner, code) in [(ofUser, ProtocolErrorCode.accountRefused), (signIn, .signInFailed)] {
      for reply in [
        Samples.reply(200, #"{"Status":"ERROR"}"#),
        Samples.reply(400, #"{"__type":"EnableSoftwareTokenMFAException"}"#),
      ] {
        let failure = failure { () throws(UpstreamFailure) in
          _ = try client.softwareTokenVerified(from: reply, of: owner)
        }
        expect(failure?.code, equals: code)
        expect(failure?.remedy, equals: (code == .signInFailed ? .answerAgain : nil))
        expect(failure?.judgesSecret, equals: (code == .accountRefused))
        expect(failure?.reason, equals: "EnableSoftwareTokenMFAException")
      }
    }
  }

  @Test(arguments: ["{}", #"{"Status":null}"#, #"{"Status":"error"}"#, #"{"IdentityId":7}"#])
  func aReplyThatJudgesNoCodeOfAnAppIsNotUsable(_ body: String) throws {
    for owner in [ofUser, .signIn(session: Secret("s"))] {
      let failure = failure { () throws(UpstreamFailure) in
        _ = try client.softwareTokenVerified(from: Samples.reply(200, body), of: owner)
      }
      expect(failure?.code, equals: .backendUnavailable, "\(body)")
      expect(failure?.judgesSecret == false && failure?.reason == nil)
      expect(failure?.message.contains("Status is neither SUCCESS nor ERROR") == true)
    }
  }

  private static let device =
    #"{"DeviceKey":"\#(PoolSamples.deviceKey)","DeviceCreateDate":1767323045.5,"#
    + #""DeviceLastAuthenticatedDate":1767323046,"DeviceAttributes":["#
    + #"{"Name":"device_name","Value":"ip-172-31-22-11.eu-west-1.internal"},"#
    + #"{"Name":"last_ip_used","Value":"192.0.2.1"}]}"#

  @Test func devicesAreListedPageByPage() throws {
    let body = #"{"Devices":[\#(Self.device),\#(Self.device)],"PaginationToken":"p"}"#
    let page = try client.devices(from: Samples.reply(200, body))
    expect(page.devices.count, equals: 2)
    expect(page.next, equals: "p")
    expect(try client.devices(from: Samples.reply(200, "{}")).devices.isEmpty)
    let device = page.devices[0]
    expect(device.key, equals: PoolSamples.deviceKey)
    expect(device.name, equals: "ip-172-31-22-11.eu-west-1.internal")
    expect(device.lastAddress, equals: "192.0.2.1")
    expect(device.created, equals: WallTime(milliseconds: 1_767_323_045_500))
    expect(device.lastUsed, equals: WallTime(milliseconds: 1_767_323_046_000))
    for body in [#"{"Devices":[{}]}"#, #"{"Devices":[{"DeviceKey":"../x"}]}"#] {
      #expect(throws: UpstreamFailure.self) { try client.devices(from: Samples.reply(200, body)) }
    }
  }

  @Test func aPoolMayAskWhetherTheDeviceIsToBeRemembered() throws {
    for answer in [true, false] {
      let body = #"{"UserConfirmationNecessary":\#(answer)}"#
      expect(try client.deviceConfirmed(from: Samples.reply(200, body)), equals: answer)
    }
  }
}
