import CredCore

@testable import CredService
@testable import ServiceTesting

/// What tests of `account` at a user pool share: a service with a pool, and the lines of its users.
protocol PoolAccountTesting {}

extension PoolAccountTesting {
  static var all: String {
    "account_actions = " + AccountAction.allCases.map(\.rawValue).joined(separator: " ") + "\n"
  }
  static var user: FakeHTTP.Answer {
    .reply(
      200,
      #"{"Username":"alice","UserAttributes":[{"Name":"email","Value":"a@example.com"}],"#
        + #""UserMFASettingList":["SMS_MFA"]}"#)
  }
  static var ok: FakeHTTP.Answer { .reply(200, "{}") }
  static var session: String { "tkn" + String(repeating: "b", count: 25) }

  func fixture(
    _ actions: String = Self.all, profile: String = ""
  ) throws -> (ServiceFixture, FakePool) {
    try ServiceFixture.ofUserPool(Configured.userPool(profile: profile, backend: actions))
  }

  func line(_ members: String) -> String { #"{"op":"account","action":"# + members + "}" }

  func keys(of action: AccountAction) -> String {
    switch action {
    case .signUp: #","username":"u","password":"Password-1""#
    case .confirm: #","username":"u","code":"1""#
    case .resend, .forgotPassword: #","username":"u""#
    case .resetPassword: #","username":"u","code":"1","password":"Password-1""#
    case .changePassword: #","old_password":"Password-1","password":"Password-2""#
    case .setAttributes: #","attributes":{"email":"e@example.com"}"#
    case .verifyAttribute: #","name":"email""#
    case .deleteAttributes: #","names":["email"]"#
    case .mfa: #","enabled":[]"#
    case .endSession: #","session":"\#(Self.session)""#
    case .get, .totp, .devices, .delete, .rememberDevice, .forgetDevice, .sessions: ""
    }
  }
}
