import ServiceTesting

@testable import ServiceTesting

extension Configured {
  /// A profile whose users the host vouches for.
  static let work = http() + profile("work", identifier: "{user}")
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
