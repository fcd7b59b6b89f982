import CredCore

@testable import CredService
@testable import ServiceTesting

/// The calls of all backends and of AWS, with what makes each fail.
extension UpstreamContractTests {
  static let callback: @Sendable (Values) -> UpstreamCall = { _ in
    .tokenCallback(identityID: nil, logins: LoginsMap(), session: nil)
  }

  private static let exchange: @Sendable (Values) -> UpstreamCall = {
    .getCredentials(identityID: $0.identity, logins: LoginsMap(), customRoleARN: nil)
  }

  private static let role: @Sendable (Values) -> UpstreamCall = {
    .assumeRole(identityID: $0.identity, token: $0.token)
  }

  private static let limits = "rate_limit = 1000/s\nmax_parallel = 8"

  private static func backend(_ keys: String) -> String {
    """
    [backend corp]
    \(keys)
    \(limits)

    """ + Configured.profile("default")
  }

  private static let http = Configured.usual(backend: limits)

  private static func basic(_ keys: String) -> String {
    Configured.usual(
      profile: "sts_endpoint = http://127.0.0.1:4599\nflow = basic\n"
        + "role_arn = arn:aws:iam::123456789012:role/basic\n\(keys)", backend: limits)
  }

  private static let tokenFile = """
    [profile default]
    identity_pool_id = \(FakeUpstreams.pool)
    cognito_endpoint = http://127.0.0.1:4599
    web_identity_token_file = /run/token
    web_identity_provider = login.example.app

    """

  private static let cognito = backend(
    "type = cognito\ncognito_endpoint = http://127.0.0.1:4599\ncredentials_file = /etc/keys")

  private static let process = backend(
    "type = cognito\ncognito_endpoint = http://127.0.0.1:4599\ncredential_process = /bin/keys")

  private static let keys =
    "[default]\naws_access_key_id = AKIAEXAMPLEEXAMPLE00\n"
    + "aws_secret_access_key = secret\n"

  private static let processOutput =
    #"{"Version":1,"AccessKeyId":"AKIAEXAMPLEEXAMPLE00","#
    + #""SecretAccessKey":"secret"}"#

  private static func output(_ text: String) -> ExecOutcome {
    ExecOutcome(ending: .exited(0), standardOutput: Secret(text), standardError: [])
  }

  static let cases: [Case] = [
    Case(name: "token callback", text: http, call: callback),
    Case(
      name: "token callback with a bearer file",
      text: Configured.usual(backend: limits + "\nbearer_token_file = /run/bearer"),
      call: callback, prepare: { $0.queries.files["/run/bearer"] = "b" }),
    Case(
      name: "token callback without its bearer file",
      text: Configured.usual(backend: limits + "\nbearer_token_file = /run/none"), call: callback,
      succeeds: false),
    Case(
      name: "token callback with a file that hangs",
      text: Configured.usual(backend: limits + "\nbearer_token_file = /run/bearer"),
      call: callback, prepare: { $0.background.time[.files] = .some(nil) }, succeeds: false),
    Case(
      name: "token callback without an answer", text: http, call: callback,
      prepare: { $0.upstreams.faults["token"] = .hang }, succeeds: false),
    Case(
      name: "token callback that is refused", text: http, call: callback,
      prepare: { $0.upstreams.faults["token"] = .status(403) }, succeeds: false),
    Case(
      name: "token callback without a connection", text: http, call: callback,
      prepare: { $0.upstreams.faults["token"] = .failure(.connect) }, succeeds: false),
    Case(
      name: "sign-in", text: Configured.password(backend: limits),
      call: { _ in .signIn(username: "alice", password: Secret("alice-password")) }),
    Case(
      name: "sign-in that is refused", text: Configured.password(backend: limits),
      call: { _ in .signIn(username: "alice", password: Secret("no")) }, succeeds: false),
    Case(name: "GetId", text: http, call: { _ in .getID(logins: LoginsMap()) }),
    Case(
      name: "GetId with logins that Cognito refuses", text: http,
      call: { values in
        var logins = LoginsMap()
        try? logins.set("cognito-identity.amazonaws.com", token: values.token)
        return .getID(logins: logins)
      }, succeeds: false),
    Case(
      name: "GetOpenIdToken", text: http,
      call: { .getOpenIDToken(identityID: $0.identity, logins: LoginsMap()) }),
    Case(name: "GetCredentialsForIdentity", text: http, call: exchange),
    Case(name: "AssumeRoleWithWebIdentity", text: basic(""), call: role),
    Case(
      name: "AssumeRoleWithWebIdentity with a policy", text: basic("policy_file = /etc/policy"),
      call: role, prepare: { $0.queries.files["/etc/policy"] = "{}" }),
    Case(
      name: "AssumeRoleWithWebIdentity without its policy file",
      text: basic("policy_file = /etc/none"), call: role, succeeds: false),
    Case(
      name: "token file", text: tokenFile, call: { _ in .readTokenFile },
      prepare: { $0.queries.files["/run/token"] = " token\n" }),
    Case(
      name: "token file that is empty", text: tokenFile, call: { _ in .readTokenFile },
      prepare: { $0.queries.files["/run/token"] = "\n" }, succeeds: false),
    Case(
      name: "token file that is missing", text: tokenFile, call: { _ in .readTokenFile },
      succeeds: false),
    Case(
      name: "command that cannot be started", text: backend("type = exec\ncommand = /bin/none"),
      call: callback, succeeds: false),
    Case(
      name: "command", text: backend("type = exec\ncommand = /bin/token"), call: callback,
      prepare: {
        $0.commands.outcome = { _ in
          output(#"{"IdentityId":"us-east-1:00000000-1111-2222-3333-444444444444","Token":"t"}"#)
        }
      }),
    Case(
      name: "own credentials from a file", text: cognito, call: callback,
      prepare: {
        $0.queries.files["/etc/keys"] = keys
        $0.upstreams.answersDeveloperTokens = true
      }),
    Case(
      name: "own credentials without a crypto library", text: cognito, call: callback,
      prepare: {
        $0.queries.files["/etc/keys"] = keys
        $0.crypto.isInstalled = false
      }, succeeds: false),
    Case(
      name: "own credentials of a process", text: process, call: callback,
      prepare: {
        $0.commands.outcome = { _ in output(processOutput) }
        $0.upstreams.answersDeveloperTokens = true
      }),
    Case(
      name: "own credentials of a process that fails", text: process, call: callback,
      prepare: { $0.commands.outcome = { _ in ExecOutcome(ending: .exited(1)) } }, succeeds: false),
    Case(
      name: "sample server that cannot be reached",
      text: backend("type = aws-sample\nurl = http://127.0.0.1:8080"),
      call: { _ in .signIn(username: "alice", password: Secret("alice-password")) },
      prepare: { $0.upstreams.faults["login"] = .failure(.connect) }, succeeds: false),
    Case(
      name: "sample server and a name that is too short",
      text: backend("type = aws-sample\nurl = http://127.0.0.1:8080"),
      call: { _ in .signIn(username: "a", password: Secret("alice-password")) }, succeeds: false),
  ]
}
