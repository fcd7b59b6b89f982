import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// `account`: an account at the organisation's server, made from this host.
@Suite(.onStage)
struct AccountTests {
  private func signUp(_ host: TestHost, _ name: String, _ more: String = "") throws -> JSON {
    try host.ask(
      #"{"op":"account","action":"sign-up","username":"\#(name)","password":"secret123"\#(more)}"#)
  }

  @Test
  func aUserSignsUpAtTheRegisterURLAndSignsIn() throws {
    let host = try TestHost {
      Configuration.password($0, backend: "register_url = \($0.url)/register")
    }
    let made = try host.credctl(
      input: "secret123\n", "account", "sign-up", "--username", "carol", "--password-stdin")
    expect(made.status, equals: 0, "\(made)")
    expect(made.errors.isEmpty)
    expect(try host.sandbox.lastBody("register")["Username"]?.text, equals: "carol")
    // It signs nobody in.
    expect(try host.state(), equals: "signedOut")
    expect(host.log.contains("an account was made"))
    expect(!host.log.contains("secret123"))
    let login = try host.logIn("carol", password: "secret123")
    expect(login["State"]?.text, equals: "signedIn", "\(login)")
    let again = try signUp(host, "carol")
    expect(again.errorCode, equals: "AccountRefused", "\(again)")
    let invited = try signUp(host, "dora", #","attributes":{"Invitation":"welcome"}"#)
    expect(invited["Confirmed"], equals: .bool(true), "\(invited)")
    expect(try host.sandbox.lastBody("register")["Invitation"]?.text, equals: "welcome")
    expect(
      try signUp(host, "emil", #","attributes":{"Invitation":"no"}"#).errorCode,
      equals: "AccountRefused")
  }

  @Test
  func theSampleServerRegistersUsersToo() throws {
    let host = try TestHost { sandbox in
      """
      [backend corp]
      type = aws-sample
      timeout = 60s
      url = \(sandbox.url)/sample

      """ + Configuration.profile("default", endpoint: sandbox.url)
    }
    expect(try signUp(host, "carol")["Confirmed"], equals: .bool(true))
    let form = try host.sandbox.lastForm("registeruser")
    expect(form["username"], equals: "carol")
    let login = try host.logIn("carol", password: "secret123")
    expect(login["State"]?.text, equals: "signedIn", "\(login)")
    expect(login["Username"]?.text, equals: "carol")
    expect(login["SignedInBy"]?.text, equals: "password")
    expect(try signUp(host, "carol").errorCode, equals: "AccountRefused")
    expect(
      try signUp(host, "dora", #","attributes":{"a":"b"}"#).errorMessage?.contains("attributes")
        == true)
  }

  @Test
  func otherActionsAreRefusedByName() throws {
    let host = try TestHost {
      Configuration.password($0, backend: "register_url = \($0.url)/register")
    }
    let refused = try host.ask(
      #"{"op":"account","action":"change-password","old_password":"a","password":"b"}"#)
    expect(refused.errorCode, equals: "InvalidRequest")
    expect(refused.errorMessage?.contains("change-password") == true)
    let outcome = try host.credctl("account", "delete")
    expect(outcome.status == 77 && outcome.errors.contains("it offers sign-up"), "\(outcome)")
    expect(try host.sandbox.allCalls, equals: 0)
  }

  @Test
  func aProgramThatTriesNamesIsSlowedDown() throws {
    let host = try TestHost {
      Configuration.password($0, backend: "register_url = \($0.url)/register")
    }
    for number in 0..<5 {
      expect(try signUp(host, "user\(number)")["Confirmed"], equals: .bool(true))
    }
    let slowed = try signUp(host, "user5")
    expect(slowed.errorCode, equals: "TooManyRequests")
    expect((slowed["Error"]?["RetryAfter"]?.number ?? 0) > 300)
    expect(try host.sandbox.calls("backend.register"), equals: 5)
  }
}
