import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// `account` at the sandbox's user pool, through the real daemon, and attacks on it.
@Suite(.onStage)
struct UserPoolAccountTests {
  private static let all =
    "account_actions = sign-up confirm resend forgot-password reset-password get change-password "
    + "set-attributes verify-attribute delete-attributes mfa totp devices remember-device "
    + "forget-device delete"

  private func act(_ host: UserPoolHost, _ members: String) throws -> JSON {
    try host.ask(#"{"op":"account","action":\#(members)}"#)
  }

  @Test func anAccountIsMadeConfirmedAndUsed() throws {
    let host = try UserPoolHost(Self.all)
    let made = try act(
      host,
      #""sign-up","username":"dora","password":"Password-1","attributes":{"email":"d@example.com"}"#
    )
    expect(made["Confirmed"], equals: .bool(false), "\(made)")
    expect(made["Delivery"]?["Medium"]?.text, equals: "email")
    expect(try host.logIn("dora", "Password-1").errorCode, equals: "ConfirmationRequired")
    expect(
      try act(host, #""confirm","username":"dora","code":"000000""#).errorCode,
      equals: "AccountRefused")
    let code = try host.code(of: "dora")
    expect(try act(host, #""confirm","username":"dora","code":"\#(code)""#).errorCode == nil)
    expect(try host.logIn("dora", "Password-1").state, equals: "signedIn")
    expect(host.host.log.contains("an account was made"))
    expect(!host.host.log.contains("Password-1") && !host.host.log.contains(code))
  }

  @Test func aForgottenPasswordIsReset() throws {
    let host = try UserPoolHost(Self.all)
    let sent = try act(host, #""forgot-password","username":"alice""#)
    expect(sent.errorCode == nil && sent["Delivery"] == nil, "\(sent)")
    let code = try host.code()
    let reset = try act(
      host, #""reset-password","username":"alice","code":"\#(code)","password":"Another-1""#)
    expect(reset.errorCode == nil, "\(reset)")
    expect(try host.logIn("alice", "Another-1").state, equals: "signedIn")
  }

  @Test func aUserReadsAndChangesTheAccount() throws {
    let host = try UserPoolHost(Self.all)
    try host.signIn()
    let read = try act(host, #""get""#)
    expect(read["Username"]?.text, equals: "alice", "\(read)")
    expect(read["Attributes"]?["email"]?.text, equals: "alice@example.com")
    let set = try act(host, #""set-attributes","attributes":{"email":"a2@example.com"}"#)
    expect(set["Delivery"]?["Medium"]?.text, equals: "email", "\(set)")
    let verified = try act(
      host, #""verify-attribute","name":"email","code":"\#(try host.code())""#)
    expect(verified.errorCode == nil, "\(verified)")
    expect(try act(host, #""set-attributes","attributes":{"nickname":"al"}"#).errorCode == nil)
    expect(try act(host, #""delete-attributes","names":["nickname"]"#).errorCode == nil)
    let wrong = try act(
      host, #""change-password","old_password":"wrong","password":"Another-1""#)
    expect(wrong.errorCode, equals: "AccountRefused", "\(wrong)")
    let changed = try act(
      host, #""change-password","old_password":"Sandbox-1","password":"Another-1""#)
    expect(changed.errorCode == nil, "\(changed)")
    try host.ask(#"{"op":"logout"}"#)
    expect(try host.logIn("alice", "Another-1").state, equals: "signedIn")
  }

  @Test func anAppIsSetUpAndTurnedOn() throws {
    let host = try UserPoolHost(Self.all)
    try host.signIn()
    let app = try act(host, #""totp""#)
    let secret = try #require(app["Secret"]?.text, "\(app)")
    expect(app["Uri"]?.text?.contains(secret) == true)
    let code = try host.appCode(secret)
    let wrong = try act(host, #""totp","code":"\#(code == "000000" ? "000001" : "000000")""#)
    expect(wrong.errorCode, equals: "AccountRefused", "\(wrong)")
    expect(try act(host, #""totp","code":"\#(code)","name":"phone""#).errorCode == nil)
    let on = try act(
      host, #""mfa","enabled":["SOFTWARE_TOKEN_MFA"],"preferred":"SOFTWARE_TOKEN_MFA""#)
    expect(on.errorCode == nil, "\(on)")
    let read = try act(host, #""get""#)
    expect(read["Mfa"]?["Preferred"]?.text, equals: "SOFTWARE_TOKEN_MFA", "\(read)")
    try host.ask(#"{"op":"logout"}"#)
    expect(try host.logIn().step, equals: "code")
  }

  @Test func devicesAreListedAndForgotten() throws {
    let host = try UserPoolHost(Self.all + "\nremember_device = yes")
    try host.pool(#"{"DeviceTracking":"ALWAYS"}"#)
    try host.signIn()
    let listed = try act(host, #""devices""#)
    guard case .array(let devices)? = listed["Devices"], let device = devices.first else {
      Issue.record("\(listed)")
      return
    }
    expect(devices.count == 1 && device["This"] == .bool(true))
    expect(try act(host, #""remember-device""#).errorCode == nil)
    expect(try act(host, #""forget-device""#).errorCode == nil)
    let after = try host.host.sandbox.control("GET", "user-pool/user?Username=alice")
    expect(after["Devices"], equals: .array([]))
  }

  @Test func aDeletedAccountIsGone() throws {
    let host = try UserPoolHost(Self.all)
    try host.signIn()
    expect(try act(host, #""delete""#).errorCode == nil)
    expect(try host.host.state(), equals: "signedOut")
    expect(try host.logIn().errorCode, equals: "SignInFailed")
  }

  // MARK: Attacks

  /// A program of the user's finds a session: it gets credentials, and not the account.
  @Test func nobodyGetsFromCredentialsToTheAccount() throws {
    let host = try UserPoolHost(profile: "vend_tokens = id access")
    try host.signIn()
    _ = try host.host.credentials()
    for members in [
      #""set-attributes","attributes":{"email":"evil@example.com"}"#, #""delete""#, #""totp""#,
      #""mfa","enabled":[]"#, #""delete-attributes","names":["email"]"#,
    ] { expect(try act(host, members).errorCode, equals: "AccessDenied") }
    expect(try host.ask(#"{"op":"token","kind":"access"}"#).errorCode, equals: "AccessDenied")
    for operation in ["UpdateUserAttributes", "DeleteUser", "AssociateSoftwareToken"] {
      expect(try host.calls(operation), equals: 0)
    }
  }

  @Test func messagesAtSomebodysCostAreLimited() throws {
    let host = try UserPoolHost(Self.all)
    var codes: [String?] = []
    for _ in 0..<6 {
      codes.append(try act(host, #""forgot-password","username":"alice""#).errorCode)
    }
    expect(codes.prefix(3).allSatisfy { $0 == nil })
    expect(codes.dropFirst(3).allSatisfy { $0 == "TooManyRequests" }, "\(codes)")
    expect(try host.messages(), equals: 3)
  }

  @Test func codesBeforeASignInAreLimitedToo() throws {
    let host = try UserPoolHost("auth_flow = choice")
    var sent = 0
    for _ in 0..<20 {
      let asked = try host.ask(#"{"op":"login","username":"alice"}"#)
      guard asked.step == "select" else { continue }
      if try host.answer(asked, #""choice":"EMAIL_OTP""#).step == "code" { sent += 1 }
    }
    expect(sent >= 1)
    expect(try host.messages() <= 5)
  }

  @Test func nobodyLearnsWhoHasAnAccount() throws {
    for hides in [true, false] {
      let host = try UserPoolHost(Self.all)
      try host.client(#""PreventUserExistenceErrors":\#(hides)"#)
      // The limit of a user allows five such actions.
      let other = try UserPoolHost(Self.all)
      try other.client(#""PreventUserExistenceErrors":\#(hides)"#)
      func same(at host: UserPoolHost, _ line: (String) -> String) throws {
        let replies = try ["alice", "nobody"].map { name in
          let reply = try host.ask(line(name))
          return [reply.errorCode, reply["Error"]?["Reason"]?.text, reply.errorMessage]
        }
        expect(replies[0], equals: replies[1], "hides \(hides)")
      }
      try same(at: host) { #"{"op":"login","username":"\#($0)","password":"Wrong-pass1"}"# }
      try same(at: host) {
        #"{"op":"account","action":"reset-password","username":"\#($0)","code":"123456","#
          + #""password":"Another-1"}"#
      }
      try same(at: host) {
        #"{"op":"account","action":"confirm","username":"\#($0)","code":"123456"}"#
      }
      try same(at: other) { #"{"op":"account","action":"forgot-password","username":"\#($0)"}"# }
      try same(at: other) { #"{"op":"account","action":"resend","username":"\#($0)"}"# }
    }
  }

  @Test func wrongCodesAreLimited() throws {
    let host = try UserPoolHost()
    let secret = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
    try host.user("alice", #""Mfa":["SOFTWARE_TOKEN_MFA"],"SoftwareToken":"\#(secret)""#)
    var tried = 0
    for _ in 0..<5 {
      let asked = try host.logIn()
      guard asked.step == "code" else { continue }
      for number in 0..<20 {
        let reply = try host.answer(asked, #""code":"\#(100_000 + number)""#)
        if reply.errorCode == "SignInFailed" { tried += 1 }
        guard reply.handle != nil, reply.errorCode != "TooManyRequests" else { break }
      }
    }
    expect((1...15).contains(tried), "\(tried)")
  }
}
