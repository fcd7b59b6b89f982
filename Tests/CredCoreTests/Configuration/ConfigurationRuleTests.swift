import CredCore
import TestSupport
import Testing

/// Rules between keys.
struct ConfigurationRuleTests {
  static let role = "role_arn = arn:aws:iam::123456789012:role/x"

  @Test(arguments: [
    (
      "backend = b", ["backend: there is no [backend b]", "backend: requires 'developer_provider'"]
    ),
    ("flow = basic", ["flow: basic requires 'role_arn'"]),
    (
      "policy_file = /p",
      [
        "policy_file: only 'flow = basic' or 'direct' can apply a policy, or a profile with 'source_profile'"
      ]
    ),
    (
      "policy_arns = arn:aws:iam::aws:policy/X",
      [
        "policy_arns: only 'flow = basic' or 'direct' can apply a policy, or a profile with 'source_profile'"
      ]
    ),
    ("duration = 1h", ["warning: duration: has no effect in the enhanced flow"]),
    ("role_session_name = x", ["warning: role_session_name: has no effect in the enhanced flow"]),
    ("sts_endpoint = https://h", ["warning: sts_endpoint: has no effect in the enhanced flow"]),
    ("web_identity_token_file = /t", ["web_identity_token_file: requires 'web_identity_provider'"]),
    ("web_identity_provider = x", ["web_identity_provider: requires 'web_identity_token_file'"]),
    ("impersonate_signed_in = no", []),
    ("impersonate_signed_in = yes", ["impersonate_signed_in: requires 'impersonate'"]),
    ("keep_warm = yes", []), ("keep_warm = no", []), ("keep_warm = alice, 1000", []),
    ("keep_warm = yes\nallow_units = a.service", []),
    ("keep_warm = alice\nallow_units = a.service\nallow_users = alice", []),
    (
      "keep_warm = yes alice",
      ["keep_warm: 'yes' is no user's name here; yes and no stand alone"]
    ),
    (
      "keep_warm = alice\nallow_units = a.service",
      [
        "keep_warm: only units may use this profile, so no user can be named; 'keep_warm = yes' "
          + "renews the sessions that there are"
      ]
    ),
    (
      "keep_warm = alice\nallow_executables = /bin/x",
      [
        "keep_warm: only programs may use this profile, so no user can be named; 'keep_warm = yes' "
          + "renews the sessions that there are"
      ]
    ),
    ("fips = yes", []), ("fips = yes\ndualstack = yes", []),
    ("cognito_endpoint = https://h", []),
    ("cognito_endpoint = https://h\nfips = no", []),
    (
      "cognito_endpoint = https://h\nfips = yes\ndualstack = yes",
      [
        "cognito_endpoint: cannot be combined with 'fips'",
        "cognito_endpoint: cannot be combined with 'dualstack'",
      ]
    ),
    ("cognito_endpoint = http://127.0.0.1:1", []),
    ("allow_plain_http = yes\ncognito_endpoint = http://h", []),
    (
      "cognito_endpoint = http://h",
      [
        "cognito_endpoint: http:// to 'h' would send secrets in clear; use https://, or set "
          + "'allow_plain_http = yes'"
      ]
    ),
  ])
  func profiles(lines: String, messages: [String]) {
    let found = problems(inProfile: lines).map { $0.drop { $0 != " " }.dropFirst() }
    expect(found.sorted(), equals: messages.map { $0[...] }.sorted())
  }

  @Test func sessionsAreKeptOnlyByADaemonThatStays() {
    let text = """
      [daemon]
      exit_on_idle = 5m
      [profile p]
      identity_pool_id = us-east-1:11111111-2222-3333-4444-555555555555
      keep_warm = yes
      """
    expect(
      problems(text),
      equals: [
        "credd.conf:3: keep_warm: cannot be combined with exit_on_idle of [daemon], which ends credd "
          + "while nobody asks"
      ])
  }

  @Test func aCognitoTokenIsNoLogin() {
    let lines = """
      web_identity_token_file = /t
      web_identity_provider = cognito-identity.amazonaws.com
      """
    expect(
      problems(inProfile: lines),
      equals: [
        "credd.conf:4: web_identity_provider: Cognito refuses its own tokens as a login"
      ])
  }

  @Test func theDeveloperProviderGivesNoTokenFile() {
    let lines = """
      web_identity_token_file = /t
      web_identity_provider = login.example.app
      developer_provider = login.example.app
      backend = b
      """
    let refusal =
      "credd.conf:4: web_identity_provider: only the backend vouches for users of the "
      + "developer_provider"
    expect(problems(inProfile: lines).contains(refusal))
    // Whichever of them comes first; and another provider's tokens are its own.
    let turned = lines.split(separator: "\n").reversed().joined(separator: "\n")
    expect(
      problems(inProfile: turned).contains(refusal.replacing("credd.conf:4", with: "credd.conf:5")))
    let other = lines.replacing(
      "provider = login.example.app\ndev", with: "provider = a.example\ndev")
    expect(!problems(inProfile: other).contains { $0.contains("vouches") })
  }

  @Test func warnsAboutShortDurations() {
    let basic = "flow = basic\n\(Self.role)\n"
    expect(problems(inProfile: basic + "duration = 30m").isEmpty)
    expect(profile(basic + "duration = 12h")?.way.session?.duration, equals: .seconds(43_200))
    expect(
      problems(inProfile: basic + "duration = 29m59s"),
      equals: [
        "credd.conf:5: warning: duration: under 30m, clients that refresh 15m before expiration "
          + "ask all the time"
      ])
    expect(profile(basic + "duration = 15m")?.way.session?.duration, equals: .seconds(900))
    expect(
      problems(inProfile: basic + "duration = 1h500ms"),
      equals: [
        "credd.conf:5: duration: '1h500ms' is not a whole number of seconds"
      ])
  }

  @Test func roleSessionNamesHaveTheCharactersOfSTS() {
    let basic = "flow = basic\n\(Self.role)\n"
    expect(problems(inProfile: basic + "role_session_name = {user}@{host}+=,.-_").isEmpty)
    expect(
      problems(inProfile: basic + "role_session_name = {user}/x"),
      equals: [
        "credd.conf:5: role_session_name: '{user}/x' holds a character that is not allowed here"
      ])
    expect(
      problems(
        inProfile: basic + "role_session_name = " + String(repeating: "x", count: 65)),
      equals: [
        "credd.conf:5: role_session_name: is longer than 64 characters"
      ])
  }

  @Test(arguments: [
    ("http", "url = http://127.0.0.1:1/{user}", []),
    ("http", "url = http://h/\nunix_socket = /run/x", []),
    ("http", "url = http://h/\nallow_plain_http = yes", []),
    (
      "http", "url = http://h/\nlogin_url = http://i/\nlogout_url = http://j/",
      ["3: url", "4: login_url", "5: logout_url"]
    ),
    ("http", "url = http://h/\nallow_plain_http = no", ["3: url"]),
    ("cognito", "cognito_endpoint = http://h/", ["3: cognito_endpoint"]),
    ("cognito", "cognito_endpoint = http://h/\nallow_plain_http = yes", []),
    ("aws-sample", "url = http://h/", ["3: url"]),
    ("aws-sample", "url = http://localhost/", []),
  ])
  func plainHTTP(type: String, lines: String, places: [String]) {
    let found = problems(inBackend: type, lines)
    expect(found.count, equals: places.count)
    for (problem, place) in zip(found, places) {
      expect(problem.hasPrefix("credd.conf:\(place): http:// to "))
    }
  }

  @Test(arguments: [
    ("client_key = /k", "client_key: requires 'client_certificate'"),
    ("header.Host = x", "header.Host: credd sets this header itself"),
    ("header.content-length = 1", "header.content-length: credd sets this header itself"),
    ("header.Content-Type = text/plain", "header.Content-Type: credd sets this header itself"),
    (
      "header.Credd-Host-Authorization = x",
      "header.Credd-Host-Authorization: credd sets this header itself"
    ),
    ("header.X(Y) = 1", "header.X(Y): not a header's name"),
    ("header_file.Host = /x", "header_file.Host: credd sets this header itself"),
    ("header_file.X(Y) = /x", "header_file.X(Y): not a header's name"),
    ("header_file.X = x", "header_file.X: is not an absolute path"),
    (
      "header_file.authorization = /x\nlogin_url = https://h/",
      "header_file.authorization: 'login_url' sets this header already"
    ),
    (
      "header.authorization = Basic c2VjcmV0\nlogin_url = https://h/",
      "header.authorization: 'login_url' sets this header already"
    ),
    (
      "header.Authorization = Basic c2VjcmV0\nbearer_token_file = /t",
      "header.Authorization: 'bearer_token_file' sets this header already"
    ),
    ("timeout = 99ms", "timeout: '99ms' is not a duration from 100ms to 1m"),
    ("timeout = 61s", "timeout: '61s' is not a duration from 100ms to 1m"),
    ("max_parallel = 0", "max_parallel: '0' is not a number from 1 to 1024"),
    ("max_parallel = +4", "max_parallel: '+4' is not a number from 1 to 1024"),
    ("method = post", "method: 'post' is not known; did you mean 'POST'?"),
  ])
  func http(lines: String, message: String) {
    expect(
      problems(inBackend: "http", "url = https://h/\n\(lines)"),
      equals: ["credd.conf:4: \(message)"])
  }

  @Test func headerNamesIgnoreCase() {
    expect(
      problems(inBackend: "http", "url = https://h/\nheader.X-A = 1\nheader.x-a = 2"),
      equals: [
        "credd.conf:5: header.x-a: duplicate header: case does not count in names of headers"
      ])
  }

  @Test(arguments: [
    ("header.X-A = 1", "header_file.x-a = /1"), ("header_file.X-A = /1", "header.x-a = 1"),
    ("header_file.X-A = /1", "header_file.x-a = /2"),
  ])
  func aHeaderHasOneValue(_ first: String, _ second: String) {
    let key = second.prefix { $0 != " " }
    expect(
      problems(inBackend: "http", "url = https://h/\n\(first)\n\(second)"),
      equals: ["credd.conf:5: \(key): duplicate header: case does not count in names of headers"])
  }

  @Test(arguments: [
    ("environment.A = 1", "environment_file.a = /1"),
    ("environment_file.A = /1", "environment.a = 1"),
  ])
  func aVariableHasOneValue(_ first: String, _ second: String) {
    let key = second.prefix { $0 != " " }
    expect(
      problems(inBackend: "exec", "command = /bin/x\n\(first)\n\(second)"),
      equals: [
        "credd.conf:5: \(key): give the variable by 'environment.' or by 'environment_file.', not by both"
      ])
    // Within a family case counts: programs know http_proxy and HTTP_PROXY.
    let both = "command = /bin/x\nenvironment_file.a = /1\nenvironment_file.A = /2"
    expect(problems(inBackend: "exec", both), equals: [])
  }

  @Test func valuesOfFilesAreNamedByTheirKeys() {
    let http = backend(
      "http", "url = https://h/\nheader.X = 1\nheader.ACCEPT = x/y\nheader_file.X-Key = /k")
    let files = (http?.kind as? HTTPBackendSettings)?.headerFiles ?? []
    expect(
      files.map { [$0.key, $0.name, $0.path] }, equals: [["header_file.X-Key", "X-Key", "/k"]])
    expect(http?.kind.namedFiles.map(\.key), equals: ["header_file.X-Key"])
    expect(http?.kind.valueKeys, equals: ["header.X"])
    let exec = backend(
      "exec",
      "command = /bin/x\nenvironment.B = 1\nenvironment.LC_ALL = C\nenvironment.PATH = /bin\n"
        + "environment_file.A = /k")
    expect(exec?.kind.namedFiles.map(\.key), equals: ["command", "environment_file.A"])
    expect(exec?.kind.valueKeys, equals: ["environment.B"])
  }

  @Test(arguments: [
    ("credentials_profile = x", "3: credentials_profile: requires 'credentials_file'"),
    (
      "credentials_file = /c\ncredential_process = /bin/x",
      "4: credential_process: cannot be combined with 'credentials_file'"
    ),
    ("token_duration = 25h", "3: token_duration: '25h' is not a duration from 1s to 24h"),
    ("token_duration = 1500ms", "3: token_duration: '1500ms' is not a whole number of seconds"),
    ("principal_tags.a,b = x", "3: principal_tags.a,b: not a tag's name"),
    (
      (0...50).map { "principal_tags.t\($0) = x" }.joined(separator: "\n"),
      "53: principal_tags.t50: more than 50 principal tags"
    ),
    ("environment.X = 1", "3: 'environment.X' belongs to backends of type exec, not cognito"),
  ])
  func cognito(lines: String, message: String) {
    expect(problems(inBackend: "cognito", lines), equals: ["credd.conf:\(message)"])
  }

  @Test func variablesOfAProgramMayBeEmptyButNotMisnamed() {
    let lines = "command = /bin/x\nenvironment.EMPTY = \"\"\nenvironment.A_1 = b"
    var expected = ExecBackendSettings(command: ["/bin/x"])
    expected.environment = ["EMPTY": Secret(""), "A_1": Secret("b")]
    expect(backend("exec", lines)?.kind as? ExecBackendSettings, equals: expected)
    expect(
      problems(inBackend: "exec", "command = /bin/x\nenvironment.1A = b"),
      equals: [
        "credd.conf:4: environment.1A: not a variable's name"
      ])
  }

  @Test func headersAndVariablesAreLimited() {
    let headers = (0...Limits.Configuration.headers).map { "header.X\($0) = x" }
    expect(
      problems(inBackend: "http", "url = https://h/\n" + headers.joined(separator: "\n")),
      equals: [
        "credd.conf:68: header.X64: more than 64 headers"
      ])
    let mixed = headers.dropLast() + ["header_file.X64 = /x"]
    expect(
      problems(inBackend: "http", "url = https://h/\n" + mixed.joined(separator: "\n")),
      equals: ["credd.conf:68: header_file.X64: more than 64 headers"])
    let variables = (0...Limits.Configuration.environmentVariables).map { "environment.X\($0) = x" }
    expect(
      problems(inBackend: "exec", "command = /bin/x\n" + variables.joined(separator: "\n")),
      equals: [
        "credd.conf:260: environment.X256: more than 256 variables"
      ])
  }

  @Test func secretsOfTheConfigurationAreNotShown() {
    let lines = "url = https://h/\nheader.X-Key = hunter2"
    expect(!"\(backend("http", lines) as Any)".contains("hunter2"))
    let wrong = [
      "header.X-Key = \"hunter2\" x", "header.X-Key: hunter2", "login_url = https://h/?k=hunter2#",
      "url2 = https://u:hunter2@h/", "bearer_token_file = hunter2",
    ]
    for line in wrong {
      let found = problems(inBackend: "http", "url = https://h/\n\(line)")
      expect(!found.isEmpty)
      expect(!found.joined().contains("hunter2"))
    }
  }

  @Test func settingsThatNeedAUserName() throws {
    let text = """
      [backend post]
      type = http
      url = https://h/
      [backend get]
      type = http
      method = GET
      url = https://h/{uid}
      [backend people]
      type = http
      url = https://h/
      login_url = https://h/{user}
      [backend sample]
      type = aws-sample
      url = https://h
      [profile a]
      identity_pool_id = \(examplePool)
      developer_provider = d
      backend = post
      [profile b]
      identity_pool_id = \(examplePool)
      developer_provider = d
      backend = get
      [profile c]
      identity_pool_id = \(examplePool)
      developer_provider = d
      backend = get
      flow = basic
      \(Self.role)
      [profile d]
      identity_pool_id = \(examplePool)
      [profile e]
      identity_pool_id = \(examplePool)
      developer_provider = d
      backend = people
      [profile f]
      identity_pool_id = \(examplePool)
      developer_provider = d
      backend = sample
      """
    let configuration = try #require(reading(text).configuration)
    let needing = try configuration.profiles.values.filter {
      try Profile($0, in: configuration) { _ in nil }.needsUserName
    }.map(\.name)
    expect(needing.sorted(), equals: ["a", "c"])
  }
}
