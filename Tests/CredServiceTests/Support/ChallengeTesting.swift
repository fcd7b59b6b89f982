import CredCore

@testable import CredService
@testable import ServiceTesting

/// What tests of challenges share: a service with a scripted user pool, and the lines of its users.
protocol ChallengeTesting {}

extension ChallengeTesting {
  typealias Pool = ScriptedPool

  static var login: String { #"{"op":"login","username":"alice","password":"pass-word"}"# }

  func fixture(
    _ text: String = Configured.scriptedPool(), _ answers: [FakeHTTP.Answer] = []
  ) throws -> (ServiceFixture, ScriptedPool) {
    let fixture = try ServiceFixture(text)
    return (fixture, ScriptedPool(fixture, answers))
  }

  func tokens(_ fixture: ServiceFixture) -> FakeHTTP.Answer {
    Pool.tokens(at: fixture.host.clock.wallTime)
  }

  static func line(_ profile: String, user: String = "alice") -> String {
    #"{"op":"login","profile":"\#(profile)","username":"\#(user)","password":"pass-word"}"#
  }

  static func answer(_ handle: String, _ code: String = "123456") -> String {
    #"{"op":"respond","handle":"\#(handle)","answers":{"code":"\#(code)"}}"#
  }

  static var device: String {
    #","NewDeviceMetadata":{"DeviceKey":"us-east-1_0f1e2d3c-aaaa-bbbb-cccc-0123456789ab","#
      + #""DeviceGroupKey":"-group"}"#
  }
}

extension Reply {
  var handle: String? { self["Challenge"]?["Handle"]?.text }
}
