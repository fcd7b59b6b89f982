import TestSupport
import Testing

@testable import CredCore

/// The values that each type accepts and refuses.
struct ConfigurationValueTests {
  @Test(
    arguments: [
      ("90s", 90_000), ("5m", 300_000), ("1h", 3_600_000), ("500ms", 500), ("1h30m", 5_400_000),
      ("1m30s", 90_000), ("1s500ms", 1500), ("45", 45_000), ("0", 0), ("999999999h", nil),
      ("", nil), ("s", nil), ("1.5h", nil), ("-1s", nil), ("5 m", nil), ("30m1h", nil),
      ("1s1s", nil), ("1h30", nil), ("1d", 86_400_000), ("30d", 2_592_000_000),
      ("1d12h", 129_600_000), ("1S", nil), ("1234567890", nil), ("٣s", nil),
    ] as [(String, Int64?)])
  func durations(text: String, milliseconds: Int64?) {
    guard text != "999999999h" else {
      expect(Duration(written: text), equals: .seconds(999_999_999 * 3600))
      return
    }
    expect(Duration(written: text), equals: milliseconds.map { .milliseconds($0) })
  }

  @Test(arguments: ["0s", "500ms", "1m30s", "1h", "12h", "1h30m", "1s500ms"])
  func durationsAreWrittenAsTheyAreRead(text: String) {
    expect(Duration(written: text)?.written, equals: text)
  }

  @Test(arguments: [
    ("yes", true), ("true", true), ("on", true), ("no", false), ("false", false), ("off", false),
  ])
  func switches(text: String, isOn: Bool) {
    expect(profile("guest = \(text)")?.pool?.guest, equals: isOn)
  }

  @Test(arguments: [
    ("guest = 1", "guest: '1' is neither yes nor no"),
    ("flow = classic", "flow: 'classic' is not known; known are enhanced, basic, direct"),
    ("flow = Basic", "flow: 'Basic' is not known; did you mean 'basic'?"),
    ("account_id = 12345678901", "account_id: '12345678901' is not an AWS account's 12 digits"),
    (
      "developer_provider = a/b",
      "developer_provider: 'a/b' is not a developer provider's name (letters, digits, '.', '_', '-')"
    ),
    ("ca_file = ca.pem", "ca_file: is not an absolute path"),
    ("ca_file = ~/ca.pem", "ca_file: is not an absolute path"),
    ("logins_key = a b", "logins_key: 'a b' is not a login provider of 1 to 128 characters"),
    ("allow_users = a:b", "allow_users: 'a:b' is not a user's name"),
    ("allow_users = ,", "allow_users: is empty"),
    ("allow_groups = a \"\"", "allow_groups: '' is not a group's name"),
    ("allow_groups = a\"b\"", "allow_groups: double quotes must enclose a whole word"),
    ("allow_groups = \"a\"b", "allow_groups: text follows the closing quote of a word"),
    (
      "allow_executables = credctl",
      "allow_executables: 'credctl' is not an absolute path, or sha256: and 64 hexadecimal digits "
        + "after one"
    ),
    (
      "allow_executables = sha256:12 /bin/a",
      "allow_executables: 'sha256:12' is not an absolute path, or sha256: and 64 hexadecimal digits "
        + "after one"
    ),
    (
      "allow_executables = /bin/a sha256:12",
      "allow_executables: 'sha256:12' is not an absolute path, or sha256: and 64 hexadecimal digits "
        + "after one"
    ),
    (
      "allow_units = billing",
      "allow_units: 'billing' is not a systemd unit such as billing.service, billing-* or "
        + "user@1000.service/app.service"
    ),
    (
      "allow_units = a.service/b.service/c.service",
      "allow_units: 'a.service/b.service/c.service' is not a systemd unit such as "
        + "billing.service, billing-* or user@1000.service/app.service"
    ),
    (
      "user_identifier = {name}",
      "user_identifier: the placeholder '{name}' is not known; "
        + "known are {user}, {uid}, {host}"
    ),
    ("cognito_endpoint = https://h/?a=b", "cognito_endpoint: a URL here has no query ('?')"),
  ])
  func refusedInProfiles(line: String, message: String) {
    expect(problems(inProfile: line), equals: ["credd.conf:3: \(message)"])
  }

  @Test(arguments: [
    ("us-east-1:11111111-2222-3333-4444-555555555555", "us-east-1"),
    ("us-gov-west-1:0-f", "us-gov-west-1"),
    ("eu-isoe-west-1:a", "eu-isoe-west-1"),
  ])
  func identityPools(id: String, region: String) {
    let profile = reading("[profile p]\nidentity_pool_id = \(id)\n").configuration?.profiles["p"]
    expect(profile?.identityPoolID, equals: id)
    expect(profile?.pool?.region, equals: region)
  }

  @Test(arguments: [
    "us-east-1", "us-east-1:", ":1111", "us-east-1:1111-G", "us-east-1:ABCD", "us.east:11",
    "us-east-1/x:11", "-us:11", "us-:11", "us_east_1:11",
    "us-east-1:\(String(repeating: "1", count: 46))",
  ])
  func refusedIdentityPools(id: String) {
    expect(
      problems("[profile p]\nidentity_pool_id = \(id)\n"),
      equals: [
        "credd.conf:2: identity_pool_id: '\(id)' is not an identity pool id (REGION:UUID)"
      ])
  }

  static let rolesOfPartitions: [(String, String)] = [
    ("us-east-1", "arn:aws:iam::123456789012:role/x"),
    ("cn-north-1", "arn:aws-cn:iam::123456789012:role/path/to/x"),
    ("us-gov-west-1", "arn:aws-us-gov:iam::123456789012:role/a+=,.@_-b"),
    ("eusc-de-east-1", "arn:aws-eusc:iam::123456789012:role/x"),
  ]

  @Test func thePoolsOfTheOtherKindAreNamed() {
    expect(
      problems("[profile p]\nidentity_pool_id = eu-west-1_AbCdEf123\n"),
      equals: [
        "credd.conf:2: identity_pool_id: 'eu-west-1_AbCdEf123' is not an identity pool id (REGION:UUID), but "
          + "a user pool's: that is 'user_pool_id' of a [backend NAME] of type user-pool"
      ])
    let lines = "user_pool_id = \(examplePool)\nclient_id = abc"
    let text = "[backend b]\ntype = user-pool\n\(lines)\n\(plainProfile)backend = b\n"
    expect(
      problems(text),
      equals: [
        "credd.conf:3: user_pool_id: '\(examplePool)' is not a user pool's id, such as eu-west-1_AbCdEf123, "
          + "but an identity pool's: that is 'identity_pool_id' of a [profile NAME]"
      ])
  }

  @Test(arguments: rolesOfPartitions)
  func roles(region: String, arn: String) {
    let text = "[profile p]\nidentity_pool_id = \(region):1\nrole_arn = \(arn)\n"
    expect(reading(text).configuration?.profiles["p"]?.roleARN, equals: arn)
    let other = Self.rolesOfPartitions.first { $0.0 != region }?.1 ?? ""
    let wrong = problems("[profile p]\nidentity_pool_id = \(region):1\nrole_arn = \(other)\n")
    expect(wrong.count, equals: 1)
    expect(wrong.first?.contains("role_arn: '\(other)' is of partition ") == true)
  }

  @Test(arguments: [
    ("us-east-1", true), ("ap-southeast-7", true), ("eusc-de-east-1", true), ("cn-north-1", true),
    ("us-east", false), ("xx-east-1", false), ("us-east-one", false),
  ])
  func regionsOfAPartitionAreKnown(region: String, isKnown: Bool) {
    expect(AWSPartition.knows(region: region), equals: isKnown)
  }

  @Test(arguments: [
    "arn:aws:iam::12345678901:role/xx", "arn:gcp:iam::123456789012:role/x",
    "arn:aws:iam::123456789012:role/", "arn:aws:iam::123456789012:user/x",
    "arn:aws:sts::123456789012:role/x", "arn:aws:iam:us-east-1:123456789012:role/x",
    "arn:aws:iam::123456789012:role/x:y", "arn:aws:iam::aws:role/something",
  ])
  func refusedRoles(arn: String) {
    expect(
      problems(inProfile: "role_arn = \(arn)"),
      equals: [
        "credd.conf:3: role_arn: '\(arn)' is not a role's ARN (arn:aws:iam::ACCOUNT:role/NAME)"
      ])
  }

  @Test func listsAreSeparatedByWhiteSpaceOrCommas() {
    let lines = """
      allow_users = alice, bob,carol\tdave
      allow_groups = "domain users", EXAMPLE\\devs "a, b"
      allow_units = billing.service batch-* getty@tty[1-3].service user@*.service/app-*
      """
    let profile = profile(lines)
    expect(profile?.allowUsers, equals: ["alice", "bob", "carol", "dave"])
    expect(profile?.allowGroups, equals: ["domain users", "EXAMPLE\\devs", "a, b"])
    expect(
      profile?.allowUnits,
      equals: [
        "billing.service", "batch-*", "getty@tty[1-3].service", "user@*.service/app-*",
      ])
  }

  @Test func commandsAreSplitWithoutAShell() {
    let line = #"command = "/opt/my app/x" --name "a \"b\" # c"  $HOME 'd e' "" ; comment"#
    expect(
      backend("exec", line)?.kind as? ExecBackendSettings,
      equals: ExecBackendSettings(
        command: ["/opt/my app/x", "--name", #"a "b" # c"#, "$HOME", "'d", "e'", ""]))
  }

  @Test func commandNeedsAnAbsolutePath() {
    expect(
      problems(inBackend: "exec", "command = token --fast"),
      equals: [
        "credd.conf:3: command: the command must start with an absolute path; no shell looks for it"
      ])
  }

  @Test func variablesAreReplacedInPaths() {
    let lines = "ca_file = ${DIR}/a${DIR}$x/${B_2}"
    expect(
      profile(lines, environment: ["DIR": "/run/c", "B_2": "b"])?.caFile,
      equals: "/run/c/a/run/c$x/b")
  }

  @Test(arguments: [
    ("${NONE}/x", "the environment variable NONE is not set"),
    (
      "${CREDENTIALS_DIRECTORY}/x",
      "the environment variable CREDENTIALS_DIRECTORY is not set (systemd sets it for a unit with "
        + "LoadCredential= or SetCredential=; if that was added while credd runs: "
        + "'systemctl restart credd')"
    ),
    ("${EMPTY}/x", "the environment variable EMPTY is empty"),
    ("/x/${", "'${' must be followed by a variable's name and '}'"),
    ("/x/${a-b}", "'${' must be followed by a variable's name and '}'"),
    ("/x/${}", "'${' must be followed by a variable's name and '}'"),
    ("${RELATIVE}/x", "is not an absolute path"),
    ("${NEWLINE}", "the path holds a control character"),
  ])
  func refusedVariables(path: String, message: String) {
    let environment = ["EMPTY": "", "RELATIVE": "here", "NEWLINE": "/a\nb"]
    let found = problems(plainProfile + "ca_file = \(path)", environment: environment)
    expect(found, equals: ["credd.conf:3: ca_file: \(message)"])
  }

  @Test func variablesElsewhereAreNotReplaced() {
    let environment = ["TOKEN": "secret"]
    let text = "[backend b]\ntype = exec\ncommand = /bin/x ${TOKEN}\n" + userOfBackend
    let reading = reading(text, environment: environment)
    expect(
      reading.diagnostics.map(\.description),
      equals: [
        "credd.conf:3: warning: command: ${TOKEN} stays as it is: variables are replaced in paths "
          + "only"
      ])
    expect(
      reading.configuration?.backends["b"]?.kind as? ExecBackendSettings,
      equals: ExecBackendSettings(command: ["/bin/x", "${TOKEN}"]))
    expect(
      problems(inBackend: "http", "url = https://h/${TOKEN}").first,
      equals: "credd.conf:3: url: the placeholder '{TOKEN}' is not known; known are {user}, {uid}, "
        + "{host}; ${TOKEN} is not replaced: variables are for paths only")
  }

  @Test func pathsHaveLimits() {
    let long = "/" + String(repeating: "x", count: Limits.Configuration.socketPathBytes)
    expect(
      problems(inBackend: "http", "url = http://h/\nunix_socket = \(long)"),
      equals: [
        "credd.conf:4: unix_socket: the path is longer than 107 bytes"
      ])
    expect(profile("ca_file = \(long)")?.caFile, equals: long)
  }
}
