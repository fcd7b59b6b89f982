import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// The device on which a sign-in stands: without it the pool renews nothing.
struct OwnDeviceTests: PoolAccountTesting {
  private static let key = "us-east-1_0f1e2d3c-aaaa-bbbb-cccc-0123456789ab"
  private static let other = "us-east-1_ffffffff-aaaa-bbbb-cccc-0123456789ab"

  /// A user whose refresh token is tied to a device, and whose pool forgets devices.
  private func signedIn() throws -> (ServiceFixture, FakePool) {
    let (fixture, pool) = try fixture()
    try fixture.signInAtPool(device: Self.key)
    pool.faults["ForgetDevice"] = [Self.ok]
    return (fixture, pool)
  }

  @Test(arguments: ["", #","device":"us-east-1_0f1e2d3c-aaaa-bbbb-cccc-0123456789ab""#])
  func toForgetItEndsTheSignInAndIsSaid(_ device: String) throws {
    let (fixture, _) = try signedIn()
    let reply = try fixture.ask(line(#""forget-device"\#(device)"#))
    expect(reply.errorCode == nil, "\(reply)")
    expect(reply.state, equals: "signedOut")
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedOut")
  }

  /// It would go on with the tokens of the session that has ended.
  @Test func toForgetItEndsAnOpenSignIn() throws {
    let (fixture, _) = try signedIn()
    let google = "accounts.google.com"
    func login(_ subject: String) throws -> Reply {
      let token = SampleJWT.text(#"{"sub":"\#(subject)"}"#)
      return try fixture.ask(#"{"op":"login","logins":{"\#(google)":"\#(token)"}}"#)
    }
    expect(try login("p1").state, equals: "signedIn")
    let asked = try login("p2")
    expect(asked.handle != nil, "\(asked)")
    expect(try fixture.ask(line(#""forget-device""#)).state, equals: "signedOut")
    let reply = try fixture.ask(asked.response("confirm", "true"))
    expect(reply.errorCode, equals: "UnknownChallenge", "\(reply)")
  }

  @Test func anotherOneEndsNothing() throws {
    let (fixture, _) = try signedIn()
    let reply = try fixture.ask(line(#""forget-device","device":"\#(Self.other)""#))
    expect(reply.errorCode == nil && reply.state == nil, "\(reply)")
    expect(try fixture.ask(#"{"op":"identity"}"#).state, equals: "signedIn")
  }

  @Test func eachDeviceSaysWhetherItIsRemembered() throws {
    let (fixture, pool) = try signedIn()
    func row(_ key: String, _ status: String) -> String {
      #"{"DeviceKey":"\#(key)","DeviceAttributes":[\#(status)]}"#
    }
    let remembered = #"{"Name":"dev:device_remembered_status","Value":"remembered"}"#
    let not = #"{"Name":"dev:device_remembered_status","Value":"not_remembered"}"#
    let devices = [row(Self.key, remembered), row(Self.other, not), row(Self.other, "")]
    pool.faults["ListDevices"] = [
      .reply(200, #"{"Devices":[\#(devices.joined(separator: ","))]}"#)
    ]
    let reply = try fixture.ask(line(#""devices""#))
    let rows = reply["Devices"]
    expect(rows?[0]?["Remembered"]?.bool, equals: true, "\(reply)")
    expect(rows?[0]?["This"]?.bool, equals: true)
    expect(rows?[1]?["Remembered"]?.bool, equals: false)
    expect(rows?[2] != nil && rows?[2]?["Remembered"] == nil)
  }
}
