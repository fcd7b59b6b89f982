import TestSupport
import Testing

@testable import CredCore

/// Headers, known and unknown keys, references between sections, order of diagnostics.
struct ConfigurationSectionTests {
  @Test(arguments: [
    ("[deamon]", "unknown section '[deamon]'; did you mean 'daemon'?"),
    ("[Profile x]", "unknown section '[Profile x]'; did you mean 'profile'?"),
    ("[default]", "unknown section [default]; did you mean '[profile default]'?"),
    (
      "[sso-session x]",
      "unknown section '[sso-session x]'; known are [daemon], [backend NAME], [profile NAME], [socket PATH]"
    ),
    ("[daemon x]", "[daemon] has no name"),
    ("[backend]", "[backend] needs a name: [backend NAME]"),
  ])
  func wrongHeaders(header: String, message: String) {
    let found = problems(plainProfile + header)
    expect(found.first, equals: "credd.conf:3: \(message)")
  }

  @Test(arguments: ["a b", "a/b", "é", String(repeating: "x", count: 65)])
  func wrongNames(name: String) {
    let found = problems("[profile \(name)]\nidentity_pool_id = \(examplePool)\n")
    expect(
      found,
      equals: [
        "credd.conf:1: '\(name.prefix(64))\(name.count > 64 ? "…" : "")' is not a name of 1 to 64 "
          + "letters, digits, '.', '_' and '-'"
      ])
  }

  @Test(arguments: [
    ("flwo = basic", "unknown key 'flwo' in '[profile p]'; did you mean 'flow'?"),
    ("role-arn = x", "unknown key 'role-arn' in '[profile p]'; did you mean 'role_arn'?"),
    ("Guest = yes", "unknown key 'Guest' in '[profile p]'; did you mean 'guest'?"),
    ("timeout = 5s", "unknown key 'timeout' in '[profile p]'; it belongs in [backend NAME]"),
    ("log_level = x", "unknown key 'log_level' in '[profile p]'; it belongs in [daemon]"),
    ("mfa_serial = x", "unknown key 'mfa_serial' in '[profile p]'"),
  ])
  func unknownKeysInProfiles(line: String, message: String) {
    expect(problems(inProfile: line), equals: ["credd.conf:3: \(message)"])
  }

  @Test(arguments: [
    (
      "haeder.X-Team = a",
      "unknown key 'haeder.X-Team' in '[backend b]'; did you mean 'header.X-Team'?"
    ),
    ("command = /bin/x", "'command' belongs to backends of type exec, not http"),
    ("credentials_file = /x", "'credentials_file' belongs to backends of type cognito, not http"),
    ("header. = a", "header.: a name must follow the dot: header.NAME"),
    ("tiemout = 1s", "unknown key 'tiemout' in '[backend b]'; did you mean 'timeout'?"),
    (
      "bearer_token = s3cret",
      "unknown key 'bearer_token' in '[backend b]'; its value stands in a file of its own: "
        + "'bearer_token_file = /PATH'"
    ),
    (
      "client_secret = s3cret",
      "unknown key 'client_secret' in '[backend b]'; its value stands in a file of its own: "
        + "'client_secret_file = /PATH'"
    ),
  ])
  func unknownKeysInBackends(line: String, message: String) {
    expect(
      problems(inBackend: "http", "url = https://h/\n\(line)"), equals: ["credd.conf:4: \(message)"]
    )
  }

  @Test func anErrorNamesAllTypesThatHaveTheKey() {
    expect(
      problems(inBackend: "exec", "command = /bin/x\nca_file = /x"),
      equals: [
        "credd.conf:4: 'ca_file' belongs to backends of type http or aws-sample or user-pool or "
          + "oidc, not exec"
      ])
  }

  @Test func typeIsSuggestedOrListed() {
    expect(
      problems(inBackend: "htpp", "url = https://h/"),
      equals: [
        "credd.conf:2: type: 'htpp' is not known; did you mean 'http'?"
      ])
    expect(
      problems(inBackend: "ldap", "url = https://h/\nnonsense_key = 1"),
      equals: [
        "credd.conf:2: type: 'ldap' is not known; known are http, exec, cognito, aws-sample, user-pool, "
          + "oidc",
        "credd.conf:4: unknown key 'nonsense_key' in '[backend b]'",
      ])
  }

  @Test func typeMayComeLast() {
    let text = "[backend b]\ncommand = /bin/x\ntype = exec\n" + userOfBackend
    expect(reading(text).configuration?.backends["b"]?.type, equals: .exec)
  }

  @Test func requiredKeys() {
    expect(
      problems("[profile p]\n[backend b]\n[backend c]\ntype = exec\n"),
      equals: [
        "credd.conf:1: '[profile p]' lacks 'identity_pool_id', an identity pool id (REGION:UUID)",
        "credd.conf:2: '[backend b]' lacks 'type', one of http, exec, cognito, aws-sample, user-pool, oidc",
        "credd.conf:2: warning: no profile uses the backend 'b'",
        "credd.conf:3: '[backend c]' lacks 'command', an absolute path and arguments",
        "credd.conf:3: warning: no profile uses the backend 'c'",
      ])
  }

  @Test func missingBackend() {
    let found = problems(
      "[backend corp]\ntype = cognito\n" + plainProfile + "backend = crop\ndeveloper_provider = d\n"
    )
    expect(
      found,
      equals: [
        "credd.conf:1: warning: no profile uses the backend 'corp'",
        "credd.conf:5: backend: there is no [backend crop]; did you mean 'corp'?",
      ])
  }

  @Test func aBackendWithErrorsCountsAsPresent() {
    expect(
      problems(inBackend: "http", "url = ftp://h/"),
      equals: [
        "credd.conf:3: url: a URL must start with https:// or http://"
      ])
  }

  @Test func backendMayBeInALaterFile() {
    let reading = reading([
      ("a", userOfBackend), ("b", "[backend b]\ntype = exec\ncommand = /bin/x\n"),
    ])
    expect(reading.diagnostics.isEmpty)
  }

  @Test func noProfileIsAWarning() {
    for reading in [reading(""), reading([])] {
      expect(
        reading.diagnostics.map(\.description),
        equals: [
          "warning: there is no [profile NAME]: nobody can get credentials"
        ])
      expect(reading.configuration, equals: Configuration())
    }
  }

  @Test func allProblemsAtOnceInTheOrderOfTheFiles() {
    let reading = reading([
      (
        "z.conf",
        "[daemon]\nlog_level = loud\nmax_connections = many\n[profil x]\n"
          + "[profile p]\nidentity_pool_id = nowhere\nduration = 1\n = 2\n"
      ),
      ("a.conf", "[backend b]\ntype = http\nurl = http://h/{usr}\n\tmore\nx\n"),
    ])
    expect(
      reading.diagnostics.map(\.description),
      equals: [
        "z.conf:2: log_level: 'loud' is not known; known are error, warning, notice, info, debug",
        "z.conf:3: max_connections: 'many' is not a number from 1 to 65536",
        "z.conf:4: unknown section '[profil x]'; did you mean 'profile'?",
        "z.conf:6: identity_pool_id: 'nowhere' is not an identity pool id (REGION:UUID)",
        "z.conf:7: duration: '1' is not a duration from 15m to 12h",
        "z.conf:7: warning: duration: has no effect in the enhanced flow",
        "z.conf:8: the line starts with white space: a value cannot continue on a second line",
        "a.conf:1: warning: no profile uses the backend 'b'",
        "a.conf:3: url: the placeholder '{usr}' is not known; did you mean '{user}'?",
        "a.conf:4: the line starts with white space: a value cannot continue on a second line",
        "a.conf:5: expected 'key = value', '[section]' or a comment",
      ])
    expect(reading.configuration == nil)
    expect(reading.diagnostics.first?.position?.line, equals: 2)
    expect(reading.diagnostics.first?.severity, equals: .error)
  }

  @Test func messagesDoNotCommandATerminal() {
    expect(
      problems(inProfile: "backend = a\u{202E}b"),
      equals: [
        #"credd.conf:3: backend: 'a\u{202E}b' is not a name of 1 to 64 letters, digits, '.', "#
          + "'_' and '-'",
        "credd.conf:3: backend: requires 'developer_provider'",
      ])
  }
}
