import CredCore
import ServiceTesting

@testable import CredService
@testable import ServiceTesting

/// What `check` tells people who look for a mistake.
extension Story {
  /// An administrator sets a host up and mistypes the token, then the path.
  static func checkedHost() throws -> Telling {
    let story = try Story("A check of a profile that the host vouches for", Configured.work)
    story.tell("nobody has used the profile yet")
    try story.run("check work", columns: 80)
    story.pass(.seconds(60))
    story.tell("the backend does not know the host's token") {
      story.upstreams.faults["token"] = .status(
        401, #"{"Code":"HostNotAuthorized","Message":"this host is not enrolled"}"#)
    }
    try story.run("get work")
    try story.run("check work", columns: 80)
    try story.run("check work", by: .root, columns: 80)
    try story.run("check --all-profiles", by: .root, columns: 80)
    story.pass(.seconds(60))
    story.tell("the administrator corrects the token, and mistypes the path") {
      story.upstreams.faults["token"] = .status(404, "no such page")
    }
    try story.reload(Configured.work)
    try story.run("get work")
    try story.run("check work")
    try story.run("check work", by: .root, columns: 80)
    story.tell("the administrator corrects the path") { story.upstreams.faults["token"] = nil }
    try story.reload(Configured.work)
    story.pass(.seconds(60))
    try story.run("get work")
    try story.run("check work")
    try story.run("check work")
    story.tell("the backend has a fault for a while") {
      story.upstreams.faults["token"] = .status(503)
    }
    story.pass(.seconds(60))
    try story.run("check work", columns: 40)
    story.tell("it is right again") { story.upstreams.faults["token"] = nil }
    return try story.end()
  }

  /// A profile whose users sign in with a password, and nobody has.
  static func checkedSignIn() throws -> Telling {
    let story = try Story(
      "A check where nobody is signed in",
      Configured.http(backend: "login_url = http://127.0.0.1/login")
        + Configured.profile("work", identifier: "{user}"))
    try story.run("check work", columns: 80)
    try story.run("get work --wait 0")
    try story.run("login work --username alice --password-stdin", input: "alice-password")
    story.pass(.seconds(60))
    try story.run("check work", columns: 80)
    return try story.end()
  }

  /// An administrator mistypes the region in identity_pool_id.
  static func wrongRegion() throws -> Telling {
    let pool = FakeUpstreams.pool.replacing("us-east-1:", with: "us-esat-1:")
    let story = try Story(
      "A region that does not exist",
      "[profile work]\nidentity_pool_id = \(pool)\nguest = yes\nallow_users = *\n")
    let http = story.fixture.host.http
    let answer = http.answer
    http.answer = { request in
      guard request.url.contains("us-esat-1") else { return answer(request) }
      return .failure(TransportFailure(.nameResolution))
    }
    try story.run("get work --wait 1")
    try story.run("check work", columns: 80)
    try story.run("check work", by: .root)
    return try story.end()
  }
}
