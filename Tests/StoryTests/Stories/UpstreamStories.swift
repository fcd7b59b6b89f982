import CredCore
import ServiceTesting

@testable import ServiceTesting

extension Story {
  /// The provider cannot be reached for ten minutes, in which Alice's session is to be renewed.
  static func providerAway() throws -> Telling {
    let story = try Story(
      "The provider away for ten minutes and back",
      Configured.provider().replacing("[profile default]", with: "[profile work]"))
    let provider = FakeProvider(story.fixture)
    let answer = story.fixture.host.http.answer
    let asked = try story.run("login work --device").errors
    let handle = asked.split(separator: " ").first { $0.count == 32 } ?? ""
    story.tell("alice types the code on her phone")
    try story.run("respond \(handle) --wait 300")
    return try awayAndBack(story, provider, answer)
  }

  private static func awayAndBack(
    _ story: Story, _ provider: FakeProvider, _ answer: @escaping (HTTPRequest) -> FakeHTTP.Answer
  ) throws -> Telling {
    let http = story.fixture.host.http
    let leave = {
      http.answer = { $0.url.hasPrefix(FakeProvider.issuer) ? .failure(.connect) : answer($0) }
    }
    story.start(StoryProgram("backup", #"{"profile":"work"}"#))
    story.pass(.seconds(82 * 60))
    story.tell("the provider cannot be reached", leave)
    story.pass(.seconds(300))
    try story.run("get work")
    try story.run("status")
    try story.run("check work")
    story.pass(.seconds(240))
    story.tell("the provider is back") { http.answer = answer }
    story.pass(.seconds(300))
    try story.run("status")
    // Nobody asks the provider for a while after that.
    story.tell("the provider cannot be reached for a minute", leave)
    try story.run("check work")
    story.tell("the provider is back") { http.answer = answer }
    return try story.end()
  }

  /// The organisation's backend no longer takes this host's own token.
  static func refusedHost() throws -> Telling {
    let story = try Story("A backend that refuses the host", Configured.work)
    story.start(StoryProgram("backup", #"{"profile":"work"}"#))
    story.pass(.seconds(600))
    story.tell("the backend refuses this host") {
      story.upstreams.faults["token"] = .status(
        401, #"{"Code":"HostNotAuthorized","Message":"this host is not enrolled"}"#)
    }
    story.pass(.seconds(300))
    try story.run("get work")
    try story.run("get work", by: .bob)
    story.pass(.seconds(1800))
    try story.run("status")
    try story.run("check work")
    try story.run("status --all", by: .root)
    story.tell("an administrator gives this host a new token") {
      story.upstreams.faults["token"] = nil
    }
    try story.reload(Configured.work)
    story.pass(.seconds(300))
    try story.run("get work", by: .bob)
    try story.run("status --all", by: .root)
    return try story.end()
  }

  /// The organisation's backend, at which nobody signs in, does not know this host from the start.
  static func unknownHost() throws -> Telling {
    let story = try Story("A backend that does not know the host", Configured.work)
    story.upstreams.faults["token"] = .status(401, #"{"message":"this host is not known"}"#)
    try story.run("get work")
    try story.run("get work", by: .bob)
    try story.run("login work")
    story.pass(.seconds(300))
    try story.run("status --all", by: .root)
    story.tell("an administrator gives this host a header that the backend knows") {
      story.upstreams.faults["token"] = nil
    }
    try story.reload(Configured.work)
    try story.run("get work")
    return try story.end()
  }

  /// This host's clock is 20 minutes slow.
  static func wrongClock() throws -> Telling {
    let story = try Story("A clock that is off", Configured.work, clockError: .seconds(-1200))
    try story.run("get work")
    story.start(StoryProgram("backup", #"{"profile":"work"}"#))
    try story.run("status")
    try story.run("status --all", by: .root)
    try story.run("check work", columns: 80)
    story.pass(.seconds(1200))
    try story.run("get work")
    story.tell("the clock is set right") {
      story.clock.setWallClock(by: .seconds(1200))
      story.upstreams.dateSkew = .zero
    }
    try story.run("status")
    try story.run("check work", columns: 80)
    return try story.end()
  }
}
