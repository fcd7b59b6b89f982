import CredCore
import CredctlKit
import TestSupport
import Testing

struct CredentialVariablesTests {
  /// A reply in which the session token is `token`, written as JSON writes it.
  private func reply(token: String = "T", _ more: String = "") throws -> JSONValue {
    try JSONValue.parse(
      Array(
        (#"{"Version":1,"AccessKeyId":"A","SecretAccessKey":"S/+=","SessionToken":"\#(token)","#
          + #""Expiration":"2030-01-01T00:00:00Z"\#(more)}"#).utf8))
  }

  private func text(_ format: VariableFormat, token: String = "T", _ more: String = "") throws
    -> String
  {
    String(
      decoding: try format.text(of: CredentialVariables(reply(token: token, more))), as: UTF8.self)
  }

  private func merged(_ environment: [String], _ more: String = "") throws -> [String] {
    try CredentialVariables(reply(more)).merged(into: environment.map { Array($0.utf8) })
      .map { String(decoding: $0, as: UTF8.self) }
  }

  private let ours = [
    "AWS_ACCESS_KEY_ID=A", "AWS_SECRET_ACCESS_KEY=S/+=", "AWS_SESSION_TOKEN=T",
    "AWS_CREDENTIAL_EXPIRATION=2030-01-01T00:00:00Z",
  ]

  private func toEndpoint(_ environment: [String: String] = [:]) throws -> CredentialVariables {
    let reply = try JSONValue.parse(
      Array(
        #"{"Version":1,"Url":"http://127.0.0.1:337/credentials/work","Token":"credd1.u.x"}"#.utf8))
    return try CredentialVariables(endpoint: reply, environment: { environment[$0] })
  }

  @Test func theWayToTheEndpointHidesWhatWouldComeBeforeIt() throws {
    let before = [
      "PATH=/bin", "AWS_ACCESS_KEY_ID=old", "AWS_SESSION_TOKEN=old", "AWS_PROFILE=p",
      "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/x", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=/y",
      "AWS_WEB_IDENTITY_TOKEN_FILE=/z", "AWS_CONFIG_FILE=/c", "no_proxy=a",
    ]
    let after = try toEndpoint(["no_proxy": "a"]).merged(into: before.map { Array($0.utf8) })
      .map { String(decoding: $0, as: UTF8.self) }
    expect(
      after,
      equals: [
        "PATH=/bin", "AWS_CONFIG_FILE=/c",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:337/credentials/work",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN=credd1.u.x", "AWS_EC2_METADATA_DISABLED=true",
        "AWS_SHARED_CREDENTIALS_FILE=/dev/null", "no_proxy=a,127.0.0.1", "NO_PROXY=127.0.0.1",
      ])
  }

  /// As those that hold credentials do it.
  @Test func theWayToTheEndpointHasARegion() throws {
    func regions(_ region: String?, _ own: [String: String]) throws -> [String] {
      let variables = try CredentialVariables(
        url: "http://127.0.0.1:337/credentials/work", token: Secret("t"), region: region
      ) { own[$0] }
      return variables.merged(into: []).map { String(decoding: $0, as: UTF8.self) }
        .filter { $0.contains("REGION") }
    }
    expect(
      try regions("eu-west-1", [:]),
      equals: ["AWS_REGION=eu-west-1", "AWS_DEFAULT_REGION=eu-west-1"])
    expect(
      try regions(nil, ["AWS_REGION": "x"]), equals: ["AWS_REGION=x", "AWS_DEFAULT_REGION=x"])
    expect(try regions(nil, [:]), equals: [])
  }

  @Test(arguments: [
    ("", "127.0.0.1"), ("a, b", "a, b,127.0.0.1"), ("a, 127.0.0.1", "a, 127.0.0.1"), ("*", "*"),
    ("*, a", "*, a,127.0.0.1"),
  ])
  func loopbackNeedsNoProxy(_ before: String, _ after: String) throws {
    let variables = try toEndpoint(["NO_PROXY": before]).variables
    expect(variables.first { $0.name == "NO_PROXY" }?.value, equals: Secret(after))
  }

  @Test func replaceTheSameVariablesOfTheEnvironment() throws {
    let before = [
      "PATH=/bin", "AWS_SESSION_TOKEN=old", "AWS_PROFILE=p", "AWS_ACCESS_KEY_ID=old",
      "AWS_REGION=r",
      "AWS_ACCESS_KEY_ID=twice", "EMPTY=", "AWS_ACCOUNT_ID=999999999999",
    ]
    expect(try merged(before), equals: ["PATH=/bin", "AWS_REGION=r", "EMPTY="] + ours)
  }

  @Test(arguments: [
    "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SECURITY_TOKEN", "AWS_ACCESS_KEY", "AWS_SECRET_KEY",
    "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ACCOUNT_ID",
  ])
  func removeWhatLeadsElsewhere(_ name: String) throws {
    expect(try merged(["\(name)=x"]), equals: ours)
    expect(try merged([name]), equals: ours)
    expect(try merged(["\(name)S=x", "X\(name)=x"]), equals: ["\(name)S=x", "X\(name)=x"] + ours)
  }

  @Test func keepEntriesThatAreNotUTF8() throws {
    let entries: [[UInt8]] = [[0x41, 0x3D, 0xFF], [], [0x3D, 0x3D]]
    expect(try CredentialVariables(reply()).merged(into: entries).starts(with: entries))
  }

  @Test func setTheAccountIfItIsKnown() throws {
    let account = #","AccountId":"123456789012""#
    expect(
      try merged(["AWS_ACCOUNT_ID=9"], account), equals: ours + ["AWS_ACCOUNT_ID=123456789012"])
    expect(try text(.dotenv, account).hasSuffix("AWS_ACCOUNT_ID=123456789012\n"))
    expect(try !text(.sh, account).prefix { $0 != "\n" }.contains("AWS_ACCOUNT_ID"))
  }

  @Test func setTheRegionOfThePoolUnlessTheUserHasOne() throws {
    func regions(_ region: String?, _ own: [String: String]) throws -> [String] {
      try CredentialVariables(reply(), region: region) { own[$0] }.merged(into: [])
        .map { String(decoding: $0, as: UTF8.self) }.filter { $0.contains("REGION") }
    }
    expect(
      try regions("us-east-1", [:]),
      equals: ["AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1"])
    expect(
      try regions("us-east-1", ["AWS_DEFAULT_REGION": "x"]),
      equals: ["AWS_REGION=x", "AWS_DEFAULT_REGION=x"])
    expect(
      try regions(nil, ["AWS_REGION": "x", "AWS_DEFAULT_REGION": "y"]),
      equals: ["AWS_REGION=x", "AWS_DEFAULT_REGION=y"])
    expect(try regions(nil, ["AWS_REGION": ""]), equals: [])
    expect(try regions(nil, ["AWS_REGION": "a b", "AWS_DEFAULT_REGION": "a\n"]), equals: [])
    let identity = Array(#"{"Version":1,"IdentityId":"eu-west-1:11111111-2222"}"#.utf8)
    expect(
      CredentialVariables.region(ofIdentity: try JSONValue.parse(identity)), equals: "eu-west-1")
    expect(CredentialVariables.region(ofIdentity: .null) == nil)
  }

  @Test(arguments: [#"a\nb"#, #"a\u0001"#, "a b", "ü", #"\u007f"#])
  func refuseTokensThatAreNotPrintableASCII(_ token: String) {
    #expect(throws: Failure.self) { try CredentialVariables(reply(token: token)) }
  }

  // MARK: Formats

  @Test func areWrittenForAShell() throws {
    expect(
      try text(.sh),
      equals: """
        unset AWS_PROFILE AWS_DEFAULT_PROFILE AWS_SECURITY_TOKEN AWS_ACCESS_KEY AWS_SECRET_KEY \
        AWS_WEB_IDENTITY_TOKEN_FILE AWS_ACCOUNT_ID
        export AWS_ACCESS_KEY_ID='A'
        export AWS_SECRET_ACCESS_KEY='S/+='
        export AWS_SESSION_TOKEN='T'
        export AWS_CREDENTIAL_EXPIRATION='2030-01-01T00:00:00Z'

        """)
  }

  @Test func areWrittenForFish() throws {
    expect(
      try text(.fish),
      equals: """
        set -eg AWS_PROFILE AWS_DEFAULT_PROFILE AWS_SECURITY_TOKEN AWS_ACCESS_KEY AWS_SECRET_KEY \
        AWS_WEB_IDENTITY_TOKEN_FILE AWS_ACCOUNT_ID
        set -gx AWS_ACCESS_KEY_ID 'A'
        set -gx AWS_SECRET_ACCESS_KEY 'S/+='
        set -gx AWS_SESSION_TOKEN 'T'
        set -gx AWS_CREDENTIAL_EXPIRATION '2030-01-01T00:00:00Z'

        """)
  }

  @Test func areWrittenForDotenvAndJSON() throws {
    expect(try text(.dotenv), equals: ours.joined(separator: "\n") + "\n")
    expect(
      try text(.json),
      equals: #"{"AWS_ACCESS_KEY_ID":"A","AWS_SECRET_ACCESS_KEY":"S/+=","AWS_SESSION_TOKEN":"T","#
        + #""AWS_CREDENTIAL_EXPIRATION":"2030-01-01T00:00:00Z"}"# + "\n")
  }

  @Test func cannotBreakOutOfTheirQuotes() throws {
    let token = #"'\"$(x)`x`;\\"#
    expect(
      try text(.sh, token: token).contains(#"export AWS_SESSION_TOKEN=''\''"$(x)`x`;\'"# + "\n"))
    expect(
      try text(.fish, token: token).contains(#"set -gx AWS_SESSION_TOKEN '\'"$(x)`x`;\\'"# + "\n"))
    expect(
      try JSONValue.parse(Array(text(.json, token: token).utf8))["AWS_SESSION_TOKEN"]?.text,
      equals: #"'"$(x)`x`;\"#)
  }

  @Test(arguments: ["'", "$", "#", #"\\"#, #"\""#, "`", "%", "!"])
  func dotenvRefusesCharactersThatItsReadersTreatDifferently(_ character: String) throws {
    #expect(throws: Failure.self) { try text(.dotenv, token: character) }
  }

  // MARK: How long they must last

  @Test func mustBeValidFor15MinutesByDefault() throws {
    let options = GetOptions(
      forEnvironment: "work", socket: nil, waiting: Waiting(), refresh: true)
    expect(
      String(decoding: options.request, as: UTF8.self),
      equals: #"{"op":"get","profile":"work","min_ttl":900,"refresh":true}"# + "\n")
    let less = GetOptions(
      forEnvironment: "work", socket: nil,
      waiting: try Waiting(minimumLifetime: "0", wait: "1"), refresh: false)
    expect(
      String(decoding: less.request, as: UTF8.self),
      equals: #"{"op":"get","profile":"work","min_ttl":0,"wait":1}"# + "\n")
  }

  @Test func adviseAShorterLifetime() {
    let short = Failure(.usage, "min_ttl asks for 900 s, but …", code: "InvalidRequest")
    expect(
      short.advisingShorterLifetime.message,
      equals: "min_ttl asks for 900 s, but …: take less with '--min-ttl'")
    let other = Failure(.usage, "unknown profile", code: "UnknownProfile")
    expect(other.advisingShorterLifetime, equals: other)
  }
}
