import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// The recipes of docs/least-privilege.md, with the real programs: the sandbox says of each key that
/// comes out what it may do.
@Suite(.onStage)
struct LeastPrivilegeTests {
  /// An action on a resource, with values of condition keys.
  private typealias Act = (action: String, resource: String, values: String)

  private func judge(
    _ key: String, of host: TestHost, may allowed: [Act], butNot others: [Act],
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    for act in allowed {
      let may = try host.sandbox.may(key, act.action, act.resource, act.values)
      expect(may, "it may not \(act)", sourceLocation: location)
    }
    // The policy of no recipe lets its holder leave it behind.
    let ways = ["sts:AssumeRole", "iam:PassRole", "iam:CreateUser", "lambda:InvokeFunction"]
    for act in others + ways.map({ ($0, "*", "{}") }) {
      let may = try host.sandbox.may(key, act.action, act.resource, act.values)
      expect(!may, "it may \(act)", sourceLocation: location)
    }
  }

  private func host(
    _ recipe: Recipe, user: String? = nil, socket: String? = nil
  ) throws -> TestHost {
    let host = try TestHost(sandbox: ["--any-user"]) {
      recipe.configuration($0, user: user, socket: socket)
    }
    let check = try host.run([Programs.credd, "--config", host.configurationPath, "--check-config"])
    expect(check.status, equals: 0, "\(check.errors)")
    return host
  }

  private func key(_ outcome: TestHost.Outcome) throws -> String {
    try #require(JSON(outcome.output)["AccessKeyId"]?.text, "\(outcome.errors)")
  }

  // MARK: A nightly unit

  @Test(.enabled(if: OtherUser.isRoot && ControlGroup.canBeMade, "takes root and control groups"))
  func aNightlyUnitReadsOnePrefix() throws {
    let recipe = try Recipe("1. A nightly unit reads one prefix of a bucket")
    let host = try host(recipe)
    let service = try recipe.section.file("nightly-report.service")
    expect(service.contains("AWS_CONFIG_FILE=/etc/nightly-report/aws.config"))
    let command = try #require(
      recipe.section.file("aws.config").firstMatch(of: /credential_process = (.*)/)
    ).1
    // Outside of the unit the same user gets neither the narrow credentials nor the wide ones.
    for profile in ["nightly-report", "work"] {
      let refused = try recipe.run("credctl get \(profile)", at: host.socketPath)
      expect(refused.status, equals: 77, "\(refused)")
    }
    let unit = try ControlGroup("nightly-report.service")
    let given = try host.answer {
      try recipe.run(
        "echo $$ > \(unit.folder)/cgroup.procs && exec \(command) --wait 60", at: host.socketPath)
    }
    let key = try key(given)
    let bucket = "arn:aws:s3:::example-reports"
    try judge(
      key, of: host,
      may: [
        ("s3:GetObject", bucket + "/nightly/2026/11", "{}"),
        ("s3:ListBucket", bucket, #"{"s3:prefix":"nightly/2026"}"#),
      ],
      butNot: [
        ("s3:GetObject", bucket + "/daily/2026", "{}"), ("s3:GetObject", bucket + "/nightly", "{}"),
        ("s3:PutObject", bucket + "/nightly/2026", "{}"), ("s3:ListBucket", bucket, "{}"),
        ("s3:ListBucket", bucket, #"{"s3:prefix":"daily/"}"#),
        ("s3:GetObject", bucket + "-else/nightly/2026", "{}"),
      ])
    try traces(of: key, in: host)
    try expectShown(recipe, unit, host)
  }

  /// The page says how to get from CloudTrail's key to the unit, and to what narrowed it.
  private func traces(of key: String, in host: TestHost) throws {
    let form = try host.sandbox.lastForm("GetScopedCredentials")
    expect(form["ScopedSessionDescription"], equals: "nightly report")
    let sent = try Stage.current().newFile("policy")
    try Data(try #require(form["Policy"]).utf8).write(to: URL(filePath: sent))
    let digest = try host.run(["/usr/bin/sha256sum", sent]).output.prefix(64)
    let lines = host.log.split(separator: "\n").filter { $0.contains("access_key_id=\(key)") }
    let source = try #require(
      host.sandbox.control("GET", "issued?AccessKeyId=\(key)")["SourceAccessKeyId"])
    let refreshed = try #require(lines.first { $0.contains("credentials refreshed") })
    for field in [
      "source_access_key_id=\(source.text ?? "")", "source_profile=work", "policy_sha256=\(digest)",
    ] { expect(refreshed.contains(field), "\(field): \(refreshed)") }
    let given = lines.first { $0.contains("credentials given") }
    expect(given?.contains("unit=nightly-report.service") == true, "\(lines)")
  }

  private func expectShown(_ recipe: Recipe, _ unit: ControlGroup, _ host: TestHost) throws {
    let commands = try recipe.section.file("look.conf").matches(of: /ExecStartPre=(.*)/)
      .map { String($0.1) }
    expect(commands.count, equals: 2)
    let shown = try recipe.run(
      (["echo $$ > \(unit.folder)/cgroup.procs", "set -e"] + commands).joined(separator: "\n"),
      at: host.socketPath)
    expect(shown.status, equals: 0, "\(shown)")
    expect(
      shown.output.contains("from work, narrowed by nightly-report.json"), "\(shown.output)")
    expect(shown.output.contains("GetScopedCredentials"), "\(shown.output)")
  }

  // MARK: A build

  @Test func aBuildPushesToOneRepository() throws {
    let recipe = try Recipe("2. A build pushes to one repository of images")
    let host = try host(recipe, user: Recipe.user)
    try recipe.makeRole(in: host.sandbox)
    try recipe.replace("aws", with: #"echo "$AWS_ACCESS_KEY_ID""#)
    try recipe.replace("podman", with: #"[ "$1" != login ] || cat > password"#)
    // On a slow machine upstream's answer may come after the caller's time is up.
    _ = try host.get("push-shop")
    let pushed = try recipe.run(recipe.section.commands(with: "podman push"), at: host.socketPath)
    expect(pushed.status, equals: 0, "\(pushed.errors)")
    let key = try String(contentsOfFile: recipe.folder + "/password", encoding: .utf8)
      .trimmingCharacters(in: .whitespacesAndNewlines)
    let repository = "arn:aws:ecr:eu-west-1:123456789012:repository/"
    try judge(
      key, of: host,
      may: [
        ("ecr:GetAuthorizationToken", "*", "{}"), ("ecr:PutImage", repository + "shop", "{}"),
        ("ecr:UploadLayerPart", repository + "shop", "{}"),
      ],
      butNot: [
        ("ecr:PutImage", repository + "shop2", "{}"), ("ecr:PutImage", repository + "web", "{}"),
        ("ecr:DeleteRepository", repository + "shop", "{}"),
        ("ecr:BatchDeleteImage", repository + "shop", "{}"),
        ("s3:GetObject", "arn:aws:s3:::example-reports/nightly/1", "{}"),
      ])
    let issued = try host.sandbox.control("GET", "issued?AccessKeyId=\(key)")
    expect(
      issued["RoleArn"]?.text, equals: "arn:aws:iam::123456789012:role/image-push")
  }

  // MARK: An agent

  private func expectAgent(_ key: String, _ host: TestHost) throws {
    let bedrock = "arn:aws:bedrock:eu-west-1:"
    try judge(
      key, of: host,
      may: [
        ("bedrock:InvokeModel", bedrock + ":foundation-model/anthropic.claude", "{}"),
        (
          "bedrock:InvokeModelWithResponseStream",
          bedrock + "123456789012:inference-profile/eu.anthropic.claude", "{}"
        ),
      ],
      butNot: [
        ("bedrock:InvokeModel", bedrock + ":foundation-model/amazon.titan", "{}"),
        ("bedrock:ListFoundationModels", "*", "{}"),
        ("s3:GetObject", "arn:aws:s3:::example-reports/nightly/1", "{}"),
      ])
  }

  /// Where no administrator has set a socket up.
  @Test(.enabled(if: Programs.installed("curl") != nil, "takes curl"))
  func aCommandGetsOneProfileByHTTP() throws {
    let recipe = try Recipe("3. An agent in a container")
    let host = try host(recipe, user: Recipe.user)
    _ = try host.get("work-agent")
    try recipe.replace("claude", with: Self.fetch)
    let served = try recipe.run(recipe.section.commands(with: "credctl serve"), at: host.socketPath)
    expect(served.status, equals: 0, "\(served.errors)")
    try expectAgent(key(served), host)
  }

  /// The agent's container sees the folder of this socket, and nothing else of credd's.
  @Test(.enabled(if: LeastPrivilegeTests.knowsSockets, "takes sockets with a cap"))
  func anAgentGetsOneProfileByASocketOfItsOwn() throws {
    let recipe = try Recipe("3. An agent in a container")
    let folder = try Stage.current().newFile("agents")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let socket = folder + "/sock"
    let host = try host(recipe, user: Recipe.user, socket: socket)
    _ = try host.get("work-agent")
    // Claude Code's two ways, of which the second wants another form.
    let process = try #require(
      recipe.section.file("aws.config").firstMatch(of: /credential_process = (.*)/)
    ).1
    let key = try key(recipe.run(String(process), at: socket))
    try expectAgent(key, host)
    let export = try recipe.run(recipe.section.file("aws-credentials"), at: socket)
    expect(
      try JSON(export.output)["Credentials"]?["AccessKeyId"]?.text, equals: key, "\(export)")
    expect(try recipe.section.file("settings.json").contains("/aws-credentials"))
    // What else there is on this host, it does not learn.
    for words in ["get work", "get nothing", "token", "status", "check work-agent"] {
      let refused = try recipe.run("credctl \(words)", at: socket)
      expect(refused.status, equals: 77, "\(words): \(refused)")
      expect(refused.output, equals: "", "\(words)")
    }
  }

  /// Whether this credd has them.
  private static let knowsSockets =
    (try? Repository.text("docs/man/credd.conf.5").contains("[socket")) ?? false

  /// What an SDK does that knows the endpoint alone.
  private static let fetch = """
    exec curl -sS -H "Authorization: $AWS_CONTAINER_AUTHORIZATION_TOKEN" \
    "$AWS_CONTAINER_CREDENTIALS_FULL_URI"
    """

  // MARK: Another account

  private static let hop = "4. Another account"

  @Test(.enabled(if: Programs.installed("curl") != nil, "takes curl"))
  func aProgramThatCannotAssumeRolesReadsAnotherAccountsBucket() throws {
    let recipe = try Recipe(Self.hop)
    let user = Recipe.user
    let endpoint = try EndpointHost(sandbox: ["--any-user"]) {
      recipe.configuration($0, user: user)
    }
    let host = endpoint.host
    try recipe.makeRole(in: host.sandbox)
    _ = try host.get("maps")
    try recipe.replace("gdalinfo", with: Self.fetch)
    for command in ["credctl serve", "credctl endpoint"] {
      let read = try recipe.run(recipe.section.commands(with: command), at: host.socketPath)
      expect(read.status, equals: 0, "\(read.errors)")
      let bucket = "arn:aws:s3:::partner-maps"
      try judge(
        try key(read), of: host,
        may: [("s3:GetObject", bucket + "/2026/coast.tif", "{}"), ("s3:ListBucket", bucket, "{}")],
        butNot: [
          ("s3:PutObject", bucket + "/2026/coast.tif", "{}"),
          ("s3:GetObject", "arn:aws:s3:::example-reports/nightly/1", "{}"),
        ])
    }
    let form = try host.sandbox.lastForm("AssumeRole")
    expect(form["ExternalId"], equals: "maps-7f31c0")
    expect(form["SourceIdentity"], equals: user)
    expect(form["RoleSessionName"], equals: user)
    expect(form["TransitiveTagKeys.member.1"], equals: "project")
    let tags = (1...2).compactMap { form["Tags.member.\($0).Key"] }
    expect(Set(tags), equals: ["project", "host"])
  }

  /// credd repeats STS's words, as the page says them.
  @Test(arguments: ["sts:AssumeRole", "sts:TagSession", "sts:SetSourceIdentity"])
  func whatATrustPolicyLacksIsSaid(_ action: String) throws {
    let recipe = try Recipe(Self.hop)
    let host = try host(recipe, user: Recipe.user)
    try recipe.makeRole(in: host.sandbox, without: action)
    let words = try #require(
      recipe.section.text.matches(of: /`(is not authorized to perform: [^`]+)`/)
        .map { String($0.1) }.first { $0.contains(action + " ") })
    let refused = try host.get("maps")
    expect(refused.status, equals: 69, "\(refused)")
    expect(refused.errors.contains(words), "\(refused.errors)")
    expect(refused.output, equals: "")
    let status = try host.credctl("status").output
    expect(status.contains(words), "\(status)")
  }
}
