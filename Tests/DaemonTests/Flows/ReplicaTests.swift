import TestSupport
import Testing

@testable import DaemonHarness

/// An outage of a user pool's primary region, through the real programs.
@Suite(.onStage)
struct ReplicaTests {
  private func host() throws -> TestHost {
    try TestHost(sandbox: ["--replica-port", "0"]) {
      Configuration.userPool(
        $0, backend: "replica_region = eu-central-1\nreplica_endpoint = \($0.replicaURL)")
    }
  }

  private func away(_ service: String, _ host: TestHost) throws {
    try host.sandbox.plan(
      #"{"Service":"\#(service)","Kind":"status","Status":503,"Count":-1}"#)
  }

  @Test func peopleSignInAndStaySignedInWhileThePrimaryIsAway() throws {
    let host = try host()
    try away("cognito-idp", host)
    let login = try host.logIn("alice", password: UserPoolHost.password)
    expect(login["State"]?.text, equals: "signedIn", "\(login)")
    expect(try host.ask()["AccessKeyId"] != nil)
    let status = try host.credctl("status", "--json")
    expect(status.output.contains(#""Region":"eu-central-1""#), "\(status)")
    let shown = try host.credctl("status").output
    expect(shown.contains("is served by its replica in eu-central-1"), "\(shown)")
    expect(try host.ask(#"{"refresh":true}"#)["AccessKeyId"] != nil)
    let account = try host.ask(#"{"op":"account","action":"get"}"#)
    expect(account["Username"] != nil, "\(account)")
    let check = try host.credctl("check")
    expect(check.output.contains("backend staff replica"), "\(check)")
    let change = try host.ask(
      #"{"op":"account","action":"change-password","old_password":"Sandbox-1","password":"Sandbox-2"}"#
    )
    expect(change.errorCode, equals: "BackendUnavailable", "\(change)")
    // The primary is back.
    try host.sandbox.clearFaults()
    try Deadline.usual.wait(for: "the primary") {
      _ = try host.ask(#"{"refresh":true}"#)
      return try !host.credctl("status", "--json").output.contains("eu-central-1")
    }
  }

  @Test func aWrongPasswordIsNotTriedInTheOtherRegion() throws {
    let host = try host()
    let reply = try host.logIn("alice", password: "wrong")
    expect(reply.errorCode, equals: "SignInFailed")
    expect(try host.sandbox.calls("cognito-idp-replica.InitiateAuth"), equals: 0)
  }

  @Test func withBothAwayTheErrorIsThePrimarys() throws {
    let host = try host()
    try away("cognito-idp", host)
    try away("cognito-idp-replica", host)
    let reply = try host.logIn("alice", password: UserPoolHost.password)
    expect(reply.errorCode, equals: "BackendUnavailable", "\(reply)")
    try host.sandbox.clearFaults()
    try host.sandbox.plan(
      #"{"Service":"cognito-idp","Kind":"status","Status":503,"Count":-1}"#)
    try host.sandbox.plan(
      #"{"Service":"cognito-idp-replica","Kind":"status","Error":"OperationNotEnabledException","Count":-1}"#
    )
    let inactive = try host.logIn("alice", password: UserPoolHost.password)
    expect(inactive.errorCode, equals: "BackendUnavailable", "\(inactive)")
  }
}
