import CredCore
import ServiceTesting

@testable import CredService
@testable import ServiceTesting

extension Story {
  /// An administrator mistypes two words of the configuration.
  static func reloadMistake() throws -> Telling {
    let story = try Story("A reload with a mistake", Configured.work)
    story.start(StoryProgram("backup", #"{"profile":"work"}"#))
    story.pass(.seconds(300))
    var isWritten = false
    func watch() {
      let command = "sudo systemctl reload credd"
      story.fixture.service.watchFiles(reloadedBy: command) { [isWritten] in isWritten }
    }
    story.tell("root adds a profile") {
      isWritten = true
      watch()
    }
    for words in ["get play", "status"] { try story.run(words) }
    story.tell("root reloads, and has mistyped two words")
    let profile = Configured.profile("play", identifier: "{user}")
    try story.reload(
      Configured.work
        + profile.replacing("backend", with: "backnd").replacing("{user}", with: "{usr}"))
    try story.run("status --all", by: .root)
    try story.run("status")
    try story.run("get play")
    story.pass(.seconds(300))
    story.tell("root corrects the words")
    isWritten = false
    watch()
    try story.reload(Configured.work + profile)
    try story.run("status --all", by: .root)
    try story.run("get play")
    return try story.end()
  }

  /// An agent of Alice's has a socket with a cap, and root mistypes its path.
  static func cappedSocket() throws -> Telling {
    func text(_ path: String) -> String {
      Configured.work + Configured.profile("agents", identifier: "{user}-agent")
        + "[socket \(path)]\nprofiles = agents\n"
    }
    let path = "/run/credd-agents/sock"
    let capped = ClientSocket(path: UnixSocketPath(path), name: "capped")
    let story = try Story("A socket with a cap", text(path))
    story.listen(at: [
      ClientSocket(path: UnixSocketPath("/run/credd/credd.sock"), name: "credd.socket"), capped,
    ])
    for words in [
      "get", "profiles", "get agents", "get work", "get nothing", "status", "logout",
      "get --user bob",
    ] { try story.run(words, at: capped) }
    try story.run("status")
    story.tell("root mistypes the socket's path")
    try story.reload(text("/run/credd-agent/sock"))
    try story.run("get", at: capped)
    try story.run("status --all", by: .root)
    story.tell("root corrects it")
    try story.reload(text(path))
    try story.run("get", at: capped)
    return try story.end()
  }

  /// A script of Alice's asks for new credentials in a loop, and one of Bob's tries an old password.
  static func hitLimit() throws -> Telling {
    let story = try Story(
      "A limit that is hit",
      Configured.work
        + Configured.http(backend: "login_url = http://127.0.0.1/login")
        .replacing("[daemon]\n\n", with: "").replacing("[backend corp]", with: "[backend club]")
        + Configured.profile("club", identifier: "{user}")
        .replacing("backend = corp", with: "backend = club"))
    let loop = StoryProgram(
      "loop", #"{"op":"clear","profile":"work","what":"credentials"}"#, #"{"profile":"work"}"#,
      every: .milliseconds(200))
    story.start(loop)
    let guess = StoryProgram(
      "guess", of: .bob,
      #"{"op":"login","profile":"club","username":"bob","password":"old"}"#, every: .seconds(5))
    story.start(guess)
    story.pass(.seconds(240))
    try story.run("clear work credentials")
    try story.run("get work")
    try story.run("login club --username bob --password-stdin", by: .bob, input: "bob-password")
    try story.run("status --all", by: .root)
    story.pass(.seconds(1320))
    story.tell("both scripts are stopped") {
      loop.stop()
      guess.stop()
    }
    return try story.end()
  }
}
