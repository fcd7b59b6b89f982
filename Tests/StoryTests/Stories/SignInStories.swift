import CredCore
import ServiceTesting
import TestSupport

@testable import ServiceTesting

extension Configured {
  /// A profile whose users the host vouches for.
  static let work = http() + profile("work", identifier: "{user}")
  /// A profile whose users bring tokens of other providers.
  static let social = """
    [profile work]
    identity_pool_id = \(FakeUpstreams.pool)
    cognito_endpoint = http://127.0.0.1:4599

    """
}

extension Story {
  /// Alice has never used credd, and her host's word is enough.
  static func firstGet() throws -> Telling {
    let story = try Story("The first get", Configured.work)
    try story.run("get work")
    try story.run("status")
    story.pass(.seconds(300))
    try story.run("get work")
    try story.run("status")
    return try story.end()
  }

  /// Alice names no profile, and then one that there is not.
  static func noName() throws -> Telling {
    let story = try Story("A profile that nobody named", Configured.work)
    for words in ["get", "login", "exec -- true", "get wrok", "identity work", "get work"] {
      try story.run(words)
    }
    try story.run("identity work")
    return try story.end()
  }

  /// Alice is signed in, and mistypes her password when she signs in once more.
  static func wrongPassword() throws -> Telling {
    let login = "login work --username alice --password-stdin"
    let story = try Story(
      "A wrong password while signed in",
      Configured.http(backend: "login_url = http://127.0.0.1/login")
        + Configured.profile("work", identifier: "{user}"))
    try story.run(login, input: "alice-password")
    story.start(StoryProgram("backup", #"{"profile":"work"}"#))
    story.pass(.seconds(600))
    for _ in 1...3 {
      try story.run(login, input: "alice-passwrod")
      story.pass(.seconds(120))
    }
    try story.run("status")
    try story.run("get work")
    try story.run("status --all", by: .root)
    return try story.end()
  }

  /// A token of Google's ends, and nothing renews it. Then another person signs in at the same terminal.
  static func endedSignIn() throws -> Telling {
    let login = "login work --login google=-"
    let story = try Story("A sign-in that ends by itself, and another person's", Configured.social)
    let token = { (person: String) in
      let now = story.clock.wallTime.milliseconds / 1000
      return SampleJWT.text(
        #"{"iss":"https://accounts.google.com","sub":"\#(person)","exp":\#(now + 3600)}"#)
    }
    story.start(
      StoryProgram("watch", #"{"op":"watch","profile":"work"}"#, every: .seconds(86_400)))
    try story.run(login, input: token("g-alice"))
    story.pass(.seconds(3600))
    try story.run("status")
    try story.run("get work --refresh --wait 0")
    try story.run(login, input: token("g-alice"))
    try story.run(login, input: token("g-carol"))
    story.upstreams.faults["GetId"] = .status(
      400,
      #"{"__type":"NotAuthorizedException","#
        + #""message":"Invalid login token. Issuer doesn't match providerName"}"#, count: 1)
    try story.run("login work --alone --login apple=-", input: token("g-alice"))
    try story.run("identity work")
    try story.run("logout work --browser")
    return try story.end()
  }

  /// An administrator of the user pool revokes what Alice signed in with.
  static func revokedSignIn() throws -> Telling {
    let login = "login work --username alice --password-stdin"
    let story = try Story(
      "A sign-in that was revoked upstream",
      Configured.scriptedPool(["work"], backend: "auth_flow = password"))
    let pool = ScriptedPool(story.fixture)
    pool.answers = [ScriptedPool.tokens(at: story.clock.wallTime)]
    try story.run(login, input: "pass-word")
    story.start(StoryProgram("backup", #"{"profile":"work"}"#))
    story.pass(.seconds(1200))
    story.tell("an administrator of the user pool revokes the tokens of alice") {
      let revoked = ScriptedPool.error("NotAuthorizedException", "Refresh Token has been revoked")
      pool.answers = Array(repeating: revoked, count: 100)
    }
    story.pass(.seconds(4200))
    try story.run("status")
    try story.run("get work")
    story.pass(.seconds(1800))
    try story.run("get work")
    try story.run("check work")
    try story.run("status --all", by: .root)
    pool.answers = [ScriptedPool.tokens(at: story.clock.wallTime)]
    try story.run(login, input: "pass-word")
    try story.run("status")
    pool.answers = Array(repeating: ScriptedPool.tokens(at: story.clock.wallTime), count: 100)
    return try story.end()
  }
}
