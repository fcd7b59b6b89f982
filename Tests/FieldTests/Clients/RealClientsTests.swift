import Foundation
import Glibc
import TestSupport
import Testing

@testable import DaemonHarness

/// What credd is for: the AWS CLI and boto3 get their credentials from it by `credential_process`.
@Suite(.onStage, .enabled(if: PythonClients.isWanted, "left out by CREDD_SKIP_REAL_CLIENTS=1"))
struct RealClientsTests {
  /// An `~/.aws/config` whose profile `work` runs credctl.
  private func configuration(_ arguments: String) throws -> String {
    let file = try Stage.current().newFile("aws-config")
    let text = """
      [profile work]
      region = us-east-1
      credential_process = "\(Programs.credctl)" \(arguments)

      """
    try Data(text.utf8).write(to: URL(filePath: file))
    return file
  }

  /// Signs a request with what the credential provider chain finds, and prints what went out.
  private static let signing = """
    import boto3, json, sys
    session = boto3.Session(profile_name="work")
    credentials = session.get_credentials()
    sts = session.client("sts", endpoint_url=sys.argv[1])
    sent = {}
    sts.meta.events.register("before-send.sts", lambda request, **_: sent.update(request.headers))
    answer = sts.get_caller_identity()
    frozen = credentials.get_frozen_credentials()
    text = lambda value: value.decode() if isinstance(value, bytes) else value
    print(json.dumps({
      "Method": credentials.method, "AccessKeyId": frozen.access_key,
      "SecretAccessKey": frozen.secret_key, "SessionToken": frozen.token,
      "RefreshNeeded": credentials.refresh_needed(900),
      "Authorization": text(sent["Authorization"]),
      "SecurityToken": text(sent["X-Amz-Security-Token"]), "Account": answer["Account"]}))
    """

  @Test
  func boto3SignsARequestWithTheDaemonsCredentials() throws {
    let clients = try PythonClients()
    let host = try TestHost()
    let file = try configuration("--socket \(host.socketPath) get --profile default")
    let python = try clients.python(Self.signing, try clients.moto(), configuration: file)
    expect(python.status, equals: 0, "\(python.errors)")
    let seen = try JSON(python.output)
    let credentials = try host.ask()
    expect(seen["Method"]?.text, equals: "custom-process")
    for key in ["AccessKeyId", "SecretAccessKey", "SessionToken"] {
      expect(seen[key], equals: credentials[key])
    }
    let key = try #require(credentials["AccessKeyId"]?.text)
    expect(seen["Authorization"]?.text?.contains("Credential=\(key)/") == true)
    expect(seen["SecurityToken"], equals: credentials["SessionToken"])
    expect(seen["Account"] != nil)
    // With more than 15 min left botocore runs the process once, not on each call.
    expect(seen["RefreshNeeded"], equals: .bool(false))
    expect(try host.sandbox.exchanges, equals: 1)
  }

  @Test
  func awsCLICallsWithTheSocketFromTheEnvironment() throws {
    let clients = try PythonClients()
    let host = try TestHost()
    let file = try configuration("get --profile default")
    let aws = try clients.aws(
      "--endpoint-url", try clients.moto(), "--profile", "work", "--output", "json", "sts",
      "get-caller-identity", configuration: file, environment: ["CREDD_SOCKET": host.socketPath])
    expect(aws.status, equals: 0, "\(aws.errors)")
    expect(try JSON(aws.output)["Account"]?.text?.count, equals: 12)
    expect(try host.sandbox.exchanges, equals: 1)
  }

  @Test
  func failureReachesTheUserOfTheAWSCLI() throws {
    let clients = try PythonClients()
    let host = try TestHost(sandbox: ["--require-session"])
    let file = try configuration("--socket \(host.socketPath) get --wait 3")
    let aws = try clients.aws(
      "--endpoint-url", host.sandbox.url, "--profile", "work", "sts", "get-caller-identity",
      configuration: file)
    expect(aws.status != 0)
    expect(aws.output.isEmpty)
    expect(aws.errors.contains("credctl: "))
    expect(aws.errors.contains("credctl login"))
  }

  // MARK: Credentials in the environment

  /// The credential provider chain's answer, and a call signed with it.
  private static let inEnvironment = """
    import boto3, json, sys
    session = boto3.Session()
    credentials = session.get_credentials()
    frozen = credentials.get_frozen_credentials()
    account = session.client("sts", endpoint_url=sys.argv[1]).get_caller_identity()["Account"]
    print(json.dumps({
      "Method": credentials.method, "AccessKeyId": frozen.access_key,
      "SecretAccessKey": frozen.secret_key, "SessionToken": frozen.token, "Account": account}))
    """

  @Test
  func boto3FindsWhatExecPutIntoItsEnvironment() throws {
    let clients = try PythonClients()
    let host = try TestHost()
    let python = try host.run(
      [
        Programs.credctl, "--socket", host.socketPath, "exec", "--",
        clients.folder + "/bin/python", "-c", Self.inEnvironment, try clients.moto(),
      ],
      environment: [
        "HOME": try Stage.current().folder, "AWS_PROFILE": "missing", "NO_PROXY": "127.0.0.1",
        "AWS_DEFAULT_REGION": "us-east-1", "AWS_SECURITY_TOKEN": "old",
      ])
    expect(python.status, equals: 0, "\(python.errors)")
    let seen = try JSON(python.output)
    let credentials = try host.ask()
    expect(seen["Method"]?.text, equals: "env")
    for key in ["AccessKeyId", "SecretAccessKey", "SessionToken"] {
      expect(seen[key], equals: credentials[key])
    }
    expect(seen["Account"]?.text?.count, equals: 12)
  }

  @Test
  func awsCLISeesThatTheyComeFromTheEnvironment() throws {
    let clients = try PythonClients()
    let host = try TestHost()
    let aws = try host.run(
      [
        Programs.credctl, "--socket", host.socketPath, "exec", "--", clients.folder + "/bin/aws",
        "configure", "list",
      ],
      environment: ["HOME": try Stage.current().folder])
    expect(aws.status, equals: 0, "\(aws.errors)")
    let key = try #require(try host.ask()["AccessKeyId"]?.text)
    expect(aws.output.contains(key.suffix(4)))
    expect(aws.output.contains(/access_key.*env/))
    expect(aws.output.contains(/secret_key.*env/))
  }

  // MARK: Another Cognito

  /// Vouches for every user it is asked about, as a backend with developer credentials does.
  private static let backend = """
    import boto3, json, sys
    query = json.load(sys.stdin)
    cognito = boto3.client(
      "cognito-identity", endpoint_url=sys.argv[1], region_name="us-east-1",
      aws_access_key_id="developer", aws_secret_access_key="secret")
    known = {"IdentityId": query["IdentityId"]} if "IdentityId" in query else {}
    answer = cognito.get_open_id_token_for_developer_identity(
      IdentityPoolId=query["IdentityPoolId"],
      Logins={query["DeveloperProviderName"]: query["DeveloperUserIdentifier"]}, **known)
    print(json.dumps({key: answer[key] for key in ("IdentityId", "Token")}))
    """

  private static let makingAPool = """
    import boto3, sys
    cognito = boto3.client(
      "cognito-identity", endpoint_url=sys.argv[1], region_name="us-east-1",
      aws_access_key_id="developer", aws_secret_access_key="secret")
    print(cognito.create_identity_pool(
      IdentityPoolName="work", AllowUnauthenticatedIdentities=False,
      DeveloperProviderName="login.example.app")["IdentityPoolId"])
    """

  @Test
  func motosCognitoIsSpokenToAsWell() throws {
    let clients = try PythonClients()
    let moto = try clients.moto()
    let making = try clients.python(Self.makingAPool, moto)
    let pool = making.output.trimmingCharacters(in: .whitespacesAndNewlines)
    try #require(making.status == 0, "\(making.errors)")
    let script = try Stage.current().newFile("backend.py")
    // The words of a command are separated by blanks, and this repository may lie below one.
    let environment = try Stage.current().newFile("venv")
    try FileManager.default.createSymbolicLink(
      atPath: environment, withDestinationPath: clients.folder)
    try Data(Self.backend.utf8).write(to: URL(filePath: script))
    let host = try TestHost { _ in
      """
      [backend corp]
      type = exec
      command = \(environment)/bin/python \(script) \(moto)
      timeout = 30s

      """
        + Configuration.profile("default", endpoint: moto).replacing(Sandbox.pool, with: pool)
    }
    let file = try configuration("--socket \(host.socketPath) get --wait 60")
    let python = try clients.python(Self.signing, moto, configuration: file)
    expect(python.status, equals: 0, "\(python.errors)")
    let reply = try host.ask()
    expect(try JSON(python.output)["AccessKeyId"], equals: reply["AccessKeyId"])
    // moto's credentials last 90 s.
    expect(try #require(reply["Expiration"]?.text?.timeFromNow) < 91)
    let identity = try host.ask(#"{"op":"identity"}"#)
    expect(identity["State"]?.text, equals: "signedIn")
    // Its token is no JWT and says nothing of its end; it is handed out all the same.
    let token = try host.ask(#"{"op":"token","wait":60}"#)
    expect(token["Token"] != nil && token["IdentityId"] == identity["IdentityId"])
  }
}
