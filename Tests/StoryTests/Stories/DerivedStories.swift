import ServiceTesting

@testable import ServiceTesting

extension Story {
  private static let policyPath = "/etc/credd/policies/readonly.json"

  /// A policy that allows actions of S3 everywhere.
  private static func policy(_ actions: String) -> String {
    #"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"\#(actions)","Resource":"*"}]}"#
  }

  /// Programs shall get no more than reading. Alice signs in to the source; Bob may only use the derived
  /// profile.
  static func derivedProfile() throws -> Telling {
    let configuration =
      Configured.http(backend: "login_url = http://127.0.0.1/login")
      + Configured.profile(
        "work", identifier: "{user}", "allow_users = alice\nvend_credentials = no")
      + Configured.derived(
        "work-readonly", "policy_file = \(policyPath)\nallow_users = alice bob")
    let story = try Story(
      "The first use of a derived profile", configuration, files: [policyPath: policy("s3:Get*")])
    for words in ["profiles", "get work-readonly", "login work-readonly"] { try story.run(words) }
    try story.run("get work-readonly", by: .bob)
    try story.run("login work --username alice --password-stdin", input: "alice-password")
    for words in [
      "check work-readonly", "get work-readonly", "profiles", "status", "identity work-readonly",
      "get work", "token work-readonly", "logout work-readonly",
    ] { try story.run(words) }
    story.start(StoryProgram("report", #"{"profile":"work-readonly"}"#))
    story.pass(.seconds(300))
    try story.run("check work-readonly")
    story.tell("root lets the policy allow listing, too") {
      story.fixture.host.queries.files[policyPath] = policy("s3:*")
    }
    try story.reload(configuration)
    story.pass(.seconds(120))
    try story.run("status --all", by: .root)
    return try story.end()
  }

  /// The partner's administrator has forgotten a part of the role's trust policy.
  static func missingTrust() throws -> Telling {
    let role = "arn:aws:iam::210987654321:role/maps-reader"
    let story = try Story(
      "A role that does not allow session tags",
      Configured.work
        + Configured.derived("maps", "role_arn = \(role)\nsession_tags.project = atlas"))
    let session = "arn:aws:sts::123456789012:assumed-role/app/CognitoIdentityCredentials"
    story.upstreams.faults["AssumeRole"] = FakeUpstreams.Fault(
      answer: FakeSTS.refusal(
        403, "AccessDenied",
        "User: \(session) is not authorized to perform: sts:TagSession on resource: \(role)"))
    for words in ["profiles", "get work", "check maps", "get maps"] { try story.run(words) }
    story.start(StoryProgram("maps", #"{"profile":"maps"}"#))
    story.pass(.seconds(900))
    try story.run("status")
    try story.run("status --all", by: .root)
    story.tell("the partner's administrator lets the role allow sts:TagSession") {
      story.upstreams.faults["AssumeRole"] = nil
    }
    story.pass(.seconds(1800))
    try story.run("get maps")
    try story.run("status")
    return try story.end()
  }

  /// Policies deny the role's session, and AWS names each: first one of the source's role, then one of the
  /// organization.
  static func denyingPolicy() throws -> Telling {
    let role = "arn:aws:iam::210987654321:role/maps-reader"
    let story = try Story(
      "A role that a policy denies",
      Configured.work + Configured.derived("maps", "role_arn = \(role)"))
    let id = "5arhuwacg4o48yxyin4kcrony3b7q2mz"
    let user =
      "User: arn:aws:sts::123456789012:assumed-role/app-2/CognitoIdentityCredentials is not authorized to "
      + "perform: sts:AssumeRole on resource: \(role)"
    func refuse(_ reason: String) {
      story.upstreams.faults["AssumeRole"] = FakeUpstreams.Fault(
        answer: FakeSTS.refusal(403, "AccessDenied", "\(user) \(reason)"))
    }
    refuse(
      "with an explicit deny in an identity-based policy: "
        + "arn:aws:iam::123456789012:policy/DenyOtherAccounts2026. Go to "
        + "https://us-east-1.console.aws.amazon.com/iam/home?region=us-east-1#/authorization-details/\(id) for "
        + "complete details, or call the GetRequestAuthorizationDetails API with the following "
        + "authorization id: \(id)")
    for words in ["get maps", "check maps", "status"] { try story.run(words) }
    try story.run("status --all", by: .root)
    story.tell("the administrator changes the policy of the pool's role") {
      refuse("because no service control policy allows the sts:AssumeRole action")
    }
    story.pass(.seconds(900))
    try story.run("get maps")
    return try story.end()
  }
}
