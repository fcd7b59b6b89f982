import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// The secrets of remembered devices: whose they are, and when they end.
struct RememberedDeviceTests {
  private let device = DeviceSecret(
    key: "us-east-1_0f", groupKey: "group", password: Secret("device-password"))

  private func session(
    _ fixture: ServiceFixture, uid: UInt32 = 1000, profile: String = "default"
  ) throws -> Session {
    _ = try fixture.ask(#"{"op":"release","profile":"\#(profile)"}"#, uid: uid)
    return try #require(fixture.service.sessions[SessionKey(uid: uid, profile: profile)])
  }

  private func fixtureWithDevice() throws -> ServiceFixture {
    let (fixture, _) = try ServiceFixture.ofUserPool()
    fixture.service.owners.devices.keep(device, of: try session(fixture), username: "alice")
    return fixture
  }

  /// The device that a sign-in of the user would name.
  private func found(
    _ fixture: ServiceFixture, uid: UInt32 = 1000, username: String = "alice"
  ) throws -> DeviceSecret? {
    let session = try session(fixture, uid: uid)
    let issuer = try #require(session.profile.poolProfile?.plan.backend.issuer)
    return fixture.service.owners.devices[uid]?.devices(of: session.owner, at: issuer)
      .last { $0.username == username }?.device
  }

  @Test func aDeviceOutlivesALogoutAndARestart() throws {
    let fixture = try fixtureWithDevice()
    expect(try found(fixture), equals: device)
    _ = try fixture.ask(#"{"op":"logout"}"#)
    expect(try found(fixture), equals: device)
    try fixture.restart(Configured.userPool())
    expect(try found(fixture), equals: device)
  }

  @Test(arguments: [
    #"{"op":"logout","global":true}"#, #"{"op":"clear","what":"identity"}"#,
  ])
  func whatForgetsTheUserForgetsTheDevice(_ line: String) throws {
    let fixture = try fixtureWithDevice()
    _ = try fixture.ask(line)
    expect(try found(fixture) == nil)
    try fixture.restart(Configured.userPool())
    expect(try found(fixture) == nil)
    expect(fixture.host.store.devices.isEmpty)
  }

  @Test(arguments: [
    #"{"op":"logout","global":true}"#, #"{"op":"clear","what":"identity"}"#,
  ])
  func devicesOfOtherUsersOfThePoolStay(_ line: String) throws {
    let fixture = try fixtureWithDevice()
    fixture.service.owners.devices.keep(device, of: try session(fixture), username: "bob")
    try fixture.signInAtPool()
    _ = try fixture.ask(line)
    expect(try found(fixture) == nil)
    expect(try found(fixture, username: "bob"), equals: device)
  }

  @Test func clearingCredentialsKeepsIt() throws {
    let fixture = try fixtureWithDevice()
    _ = try fixture.ask(#"{"op":"clear","what":"credentials"}"#)
    expect(try found(fixture), equals: device)
  }

  @Test func aForgottenDeviceIsGone() throws {
    let fixture = try fixtureWithDevice()
    fixture.service.owners.devices.forget(of: try session(fixture), username: "alice")
    expect(try found(fixture) == nil)
    expect(fixture.host.store.devices.isEmpty)
  }

  @Test func nobodyElseGetsIt() throws {
    let fixture = try fixtureWithDevice()
    expect(try found(fixture, username: "Alice") == nil)
    expect(try found(fixture, uid: 1001) == nil)
    try fixture.reload(Configured.userPool(client: "2other"))
    expect(try found(fixture) == nil)
    try fixture.reload(Configured.userPool())
    expect(try found(fixture), equals: device)
  }

  @Test func theOldestOfTooManyGoes() throws {
    let fixture = try fixtureWithDevice()
    let session = try session(fixture)
    for number in 0..<Limits.Session.devicesPerUser {
      fixture.service.owners.devices.keep(device, of: session, username: "user\(number)")
    }
    expect(try found(fixture) == nil)
    expect(try found(fixture, username: "user0"), equals: device)
  }

  @Test func aDeviceThatIsNotUsedOutlivesARestartUnused() throws {
    let (fixture, _) = try ServiceFixture.ofUserPool()
    fixture.service.owners.devices.keep(
      device, of: try session(fixture), username: "alice", isUsed: false)
    try fixture.restart(Configured.userPool())
    expect(try found(fixture) == nil)
    expect(
      fixture.service.owners.devices.known(of: try session(fixture), username: "alice"),
      equals: device)
    fixture.service.owners.devices.use(true, of: try session(fixture), username: "alice")
    try fixture.restart(Configured.userPool())
    expect(try found(fixture), equals: device)
  }

  @Test func devicesThatAreNotUsedMakeRoomFirst() throws {
    let fixture = try fixtureWithDevice()
    let session = try session(fixture)
    for number in 0..<(2 * Limits.Session.devicesPerUser) {
      fixture.service.owners.devices.keep(
        device, of: session, username: "user\(number)", isUsed: false)
    }
    expect(try found(fixture), equals: device)
  }

  @Test func everyTruncatedRecordIsAnErrorOrFewerDevices() throws {
    let fixture = try fixtureWithDevice()
    let bytes = try #require(fixture.host.store.devices[1000])
    expect(try RememberedDevices.read(bytes[...])?.uid, equals: 1000)
    for count in 0..<bytes.count {
      let isRead = (try? RememberedDevices.read(bytes.prefix(count))) != nil
      expect(!isRead, "\(count)")
    }
  }
}
