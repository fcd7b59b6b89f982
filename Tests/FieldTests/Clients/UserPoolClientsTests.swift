import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// Independent clients of the sandbox's user pool: what they cannot do, the sandbox does wrong.
@Suite(.onStage, .enabled(if: PythonClients.isWanted, "left out by CREDD_SKIP_REAL_CLIENTS=1"))
struct UserPoolClientsTests {
  private static let pool = "us-east-1_Sandbox"
  /// The default clients and their secrets.
  private static let clients = [
    ("1sandboxclient234567890abc", ""),
    ("2sandboxclient234567890abc", "sandboxclientsecret012345678901234567890abcdefghijk"),
  ]

  /// Runs a script of Tests/Data/UserPools; its output.
  private func run(_ script: String, _ arguments: [String]) throws -> String {
    let python = try PythonClients().folder + "/bin/python"
    let path = Repository.root.appending(path: "Tests/Data/UserPools/" + script).path
    let process = try ChildProcess(
      [python, path] + arguments,
      environment: [
        "HOME": try Stage.current().folder, "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none", "NO_PROXY": "127.0.0.1",
        "PYTHONDONTWRITEBYTECODE": "1",
      ])
    let status = try process.wait(.in(.seconds(120)))
    try #require(status == 0, "\(process.errors)")
    return process.output
  }

  @Test func theVectorsAreThoseOfTheReference() throws {
    let file = Repository.root.appending(path: "Tests/Data/UserPools/vectors.json").path
    expect(try run("srp.py", ["--check", file]), equals: "all vectors hold\n")
  }

  @Test(arguments: clients)
  func theReferenceSignsIn(_ client: String, _ secret: String) throws {
    let sandbox = try Sandbox()
    let output = try run(
      "reference_client.py",
      [sandbox.url, Self.pool, client, secret, "ALICE", "Sandbox-1", "7"])
    expect(try JSON(output), equals: try JSON(#"{"SignIns":7,"Username":"alice"}"#))
    try sandbox.control("POST", "user-pool", #"{"DeviceTracking":"ALWAYS"}"#)
    let tracked = try run(
      "reference_client.py", [sandbox.url, Self.pool, client, secret, "alice", "Sandbox-1"])
    expect(
      try JSON(tracked), equals: try JSON(#"{"OnDevice":true,"SignIns":1,"Username":"alice"}"#))
  }

  @Test(arguments: clients)
  func pycognitoLivesAWholeAccount(_ client: String, _ secret: String) throws {
    let sandbox = try Sandbox()
    let output = try run("pycognito_client.py", [sandbox.url, Self.pool, client, secret])
    expect(
      try JSON(output),
      equals: try JSON(
        #"["register","confirm","authenticate","shapes","refused","renew","change password","#
          + #""attributes","forgot password","second factor","second factor asked for","#
          + #""new password","delete","global sign-out"]"#))
  }

  /// The AWS CLI from the sign-in to the credentials, as docs/sandbox.md shows it.
  @Test func theAWSCLISignsInAndGetsCredentials() throws {
    let clients = try PythonClients()
    let sandbox = try Sandbox()
    func aws(_ arguments: String...) throws -> String {
      let process = try ChildProcess(
        [clients.folder + "/bin/aws", "--endpoint-url", sandbox.url, "--output", "text"]
          + arguments,
        environment: [
          "HOME": try Stage.current().folder, "AWS_DEFAULT_REGION": "us-east-1",
          "AWS_EC2_METADATA_DISABLED": "true", "NO_PROXY": "127.0.0.1",
        ])
      let status = try process.wait(.in(.seconds(60)))
      try #require(status == 0, "\(process.errors)")
      return process.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }
    let token = try aws(
      "cognito-idp", "initiate-auth", "--auth-flow", "USER_PASSWORD_AUTH", "--client-id",
      Self.clients[0].0, "--auth-parameters", "USERNAME=alice,PASSWORD=Sandbox-1", "--query",
      "AuthenticationResult.IdToken")
    let login = "cognito-idp.us-east-1.amazonaws.com/us-east-1_Sandbox=" + token
    let identity = try aws(
      "cognito-identity", "get-id", "--identity-pool-id", Sandbox.pool, "--logins", login,
      "--query", "IdentityId")
    let key = try aws(
      "cognito-identity", "get-credentials-for-identity", "--identity-id", identity, "--logins",
      login, "--query", "Credentials.AccessKeyId")
    expect(key.hasPrefix("ASIA"))
  }

  /// The commands of docs/user-pools.md: moto stands in for AWS where it knows the operation;
  /// elsewhere the AWS CLI checks what it would send.
  @Test func theAWSCLIMakesThePools() throws {
    let clients = try PythonClients()
    let moto = try clients.moto()
    let script = """
      set -euo pipefail
      aws() {
        case $2 in
        set-identity-pool-roles) command aws "$@" --generate-cli-skeleton output >/dev/null ;;
        *) command aws --endpoint-url \(moto) "$@" ;;
        esac
      }
      \(try Repository.blocks(of: "sh", in: "docs/user-pools.md").prefix(2).joined(separator: "\n"))
      """
    let process = try ChildProcess(
      ["/bin/bash", "-c", script],
      environment: [
        "PATH": "\(clients.folder)/bin:/usr/bin:/bin", "HOME": try Stage.current().folder,
        "AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none", "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1",
      ])
    let status = try process.wait(.in(.seconds(300)))
    expect(status, equals: 0, "\(process.errors)")
    let ids = try #require(process.output.split(separator: "\n").last).split(separator: " ")
    expect(ids.count == 3 && ids[0].hasPrefix("us-east-1_") && ids[2].hasPrefix("us-east-1:"))
  }
}
