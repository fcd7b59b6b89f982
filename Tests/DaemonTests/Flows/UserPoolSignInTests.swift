import Foundation
import Testing

/// Sign-ins at the sandbox's user pool, through the real daemon.
@Suite(.onStage)
struct UserPoolSignInTests {
  private func host(_ backend: String = "") throws -> TestHost {
    try TestHost { sandbox in
      """
      [backend staff]
      type = user-pool
      user_pool_id = us-east-1_Sandbox
      client_id = 1sandboxclient234567890abc
      user_pool_endpoint = \(sandbox.url)
      timeout = 5s
      \(backend)
      [profile default]
      identity_pool_id = \(Sandbox.pool)
      backend = staff
      cognito_endpoint = \(sandbox.url)

      """
    }
  }

  private func answer(_ host: TestHost, to asked: JSON, _ answers: String) throws -> JSON {
    let handle = try #require(asked["Challenge"]?["Handle"]?.text, "\(asked)")
    return try host.ask(#"{"op":"respond","handle":"\#(handle)","answers":{\#(answers)}}"#)
  }

  @Test func aPasswordIsProvedToThePool() throws {
    let host = try host()
    #expect(try host.logIn("ALICE", password: "wrong")["Error"]?["Code"]?.text == "SignInFailed")
    let reply = try host.logIn("ALICE", password: "Sandbox-1")
    #expect(reply["State"]?.text == "signedIn", "\(reply)")
    #expect(reply["SignedInBy"]?.text == "userPool" && reply["Username"]?.text == "alice")
    _ = try host.credentials()
  }

  @Test func everyFlowSignsIn() throws {
    for flow in ["srp", "password", "choice"] {
      let host = try host("auth_flow = \(flow)")
      let reply = try host.logIn("alice", password: "Sandbox-1")
      #expect(reply["State"]?.text == "signedIn", "\(flow): \(reply)")
    }
  }

  @Test func aTemporaryPasswordIsReplaced() throws {
    let host = try host()
    try host.sandbox.control(
      "POST", "user-pool/user", #"{"Username":"carol","Password":"Temporary-1"}"#)
    let asked = try host.logIn("carol", password: "Temporary-1")
    #expect(asked["Challenge"]?["Step"]?.text == "newPassword")
    let short = try answer(host, to: asked, #""password":"x""#)
    #expect(short["Error"]?["Handle"]?.text == asked["Challenge"]?["Handle"]?.text)
    let reply = try answer(host, to: asked, #""password":"Lasting-12""#)
    #expect(reply["State"]?.text == "signedIn", "\(reply)")
  }

  @Test func anAuthenticatorAppIsAskedForItsCode() throws {
    let host = try host()
    let secret = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
    try host.sandbox.control(
      "POST", "user-pool/user",
      #"{"Username":"alice","Mfa":["SOFTWARE_TOKEN_MFA"],"SoftwareToken":"\#(secret)"}"#)
    let asked = try host.logIn("alice", password: "Sandbox-1")
    #expect(asked["Challenge"]?["Parameters"]?["Medium"]?.text == "app", "\(asked)")
    #expect(try host.state() == "signedOut")
    let code = try #require(
      try host.sandbox.control("GET", "user-pool/totp?Secret=\(secret)")["Code"]?.text)
    let wrong = code == "000000" ? "000001" : "000000"
    #expect(
      try answer(host, to: asked, #""code":"\#(wrong)""#)["Error"]?["Code"]?.text == "SignInFailed")
    #expect(
      try answer(host, to: asked, #""code":"\#(code)""#)["State"]?.text == "signedIn")
  }

  @Test func aDeviceIsRemembered() throws {
    let host = try host("remember_device = yes")
    try host.sandbox.control("POST", "user-pool", #"{"DeviceTracking":"ALWAYS"}"#)
    for _ in 0..<2 {
      #expect(try host.logIn("alice", password: "Sandbox-1")["State"]?.text == "signedIn")
    }
    let user = try host.sandbox.control("GET", "user-pool/user?Username=alice")
    guard case .array(let devices)? = user["Devices"] else {
      Issue.record("no devices: \(user)")
      return
    }
    #expect(devices.count == 1)
  }
}
