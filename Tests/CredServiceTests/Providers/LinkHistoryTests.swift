import CredCore
import SeededRandom
import SimulationKit
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Random histories of a session with a linked provider, in virtual time. Requests, sign-ins, logouts,
/// reloads and restarts meet while a provider that is slow, away or refuses has not answered yet.
struct LinkHistoryTests {
  @Test(arguments: 0..<UInt64(max(TestRounds.of(60), 6)))
  func noHistoryLosesATokenOfALinkOrUsesItTwice(_ seed: UInt64) throws {
    let history = try LinkHistory(seed)
    for _ in 0..<150 {
      try history.act()
      try history.expectAnswersInTime()
    }
    try history.expectOrderInTheEnd()
  }
}

/// One history, and what must be so in it.
private final class LinkHistory {
  private enum Act: String, CaseIterable {
    case get, refresh, check, idToken, accessToken, leave
    case link, giveUpLink, password, logout, clear, release
    case providerIsSlow, providerIsQuick, providerFails, backendRefusesLink, backendFails
    case reload, reloadWithoutLink, reloadWithoutWords, reloadElsewhere, restart
    case moment, grace, minute, hour
  }

  private static let linking: [Act] = [.link, .link, .link, .reload, .reload, .minute]
  private static let renewing: [Act] = [
    .hour, .refresh, .idToken, .accessToken, .providerIsSlow, .grace, .moment,
  ]

  /// A client, and when it has its answer at the latest.
  private struct Waiting {
    let client: TestClient
    let due: Instant
    let line: String
  }

  private static let text = Configured.linking(
    corp: "login_url = http://127.0.0.1/login", profile: "vend_tokens = id access")
  private static let elsewhere = text.replacing(
    "sign_in = browser", with: "ca_file = /etc/other.pem\nsign_in = browser")
  private static let plain = text.replacing("vend_tokens = id access", with: "")
  private static let unlinked = plain.replacing("link_backend = okta", with: "")

  private let host: LinkedHost
  private var random: any RandomNumberGenerator
  private let seed: UInt64
  private var text = LinkHistory.text
  private var waiting: [Waiting] = []
  private var acts: [Act] = []
  private var people = 0
  /// Tokens that nobody can know: the process was killed before the reply came.
  private var forgotten: Set<String> = []

  init(_ seed: UInt64) throws {
    self.seed = seed
    random = SeededGenerator(seed: seed)
    host = try LinkedHost(Self.text)
    host.provider.knowsUsers = true
    host.provider.rotates = seed % 4 != 0
    host.provider.hasGrace = seed % 8 == 1
  }

  private var fixture: ServiceFixture { host.fixture }
  private var provider: FakeProvider { host.provider }
  private var description: String {
    "seed \(seed): \(acts.suffix(14).map(\.rawValue).joined(separator: " "))"
  }

  private var held: Set<String> {
    let session = fixture.service.sessions[SessionKey(uid: 1000, profile: "default")]
    return Set(
      session?.machine.providerSessions.compactMap { $0.refreshToken.exposedText() } ?? [])
  }

  private var lost: Set<String> { forgotten.union(provider.lost) }

  // MARK: Acts

  func act() throws {
    // Without a link there is little to see, and with one its renewals are what matters.
    let often = held.isEmpty ? Self.linking : Self.renewing
    let choice = Int.random(in: 0..<3, using: &random) > 0 ? often : Act.allCases
    guard let act = choice.randomElement(using: &random) else { return }
    acts.append(act)
    switch act {
    case .get: ask(#"{"#)
    case .refresh: ask(#"{"refresh":true,"#)
    case .check: send(#"{"op":"check","profile":"default"}"#, for: 120)
    case .idToken: ask(#"{"op":"token","kind":"id","#)
    case .accessToken: ask(#"{"op":"token","kind":"access","refresh":true,"#)
    case .leave:
      guard let index = waiting.indices.randomElement(using: &random) else { return }
      waiting.remove(at: index).client.leave()
    case .link: try link(to: "p\(people)")
    case .giveUpLink: _ = try? host.ask(LinkedHost.login)
    case .password:
      send(#"{"op":"login","username":"alice","password":"alice-password"}"#, for: 120)
    case .logout: send(#"{"op":"logout","revoke":true}"#, for: 60)
    case .clear:
      let what = ["credentials", "identity"].randomElement(using: &random) ?? ""
      send(#"{"op":"clear","what":"\#(what)"}"#, for: 60)
    case .release: send(#"{"op":"release"}"#, for: 5)
    case .providerIsSlow:
      provider.delay = .seconds([1, 4, 10, 25].randomElement(using: &random) ?? 1)
    case .providerIsQuick: provider.delay = .zero
    case .providerFails:
      provider.faults["token"] = [.failure(.connect), .reply(503, ""), .reply(429, "")]
    case .backendRefusesLink: host.refusals = [.reply(400, #"{"error":"invalid_request"}"#)]
    case .backendFails: host.refusals = [.reply(503, ""), .silence]
    case .reload: try reload(Self.text)
    case .reloadWithoutLink: try reload(Self.unlinked)
    case .reloadWithoutWords: try reload(Self.plain)
    case .reloadElsewhere: try reload(Self.elsewhere)
    case .restart: try restart()
    case .moment: fixture.advance(by: .milliseconds(700))
    case .grace: fixture.advance(by: .seconds(3))
    case .minute: fixture.advance(by: .seconds(60))
    case .hour: fixture.advance(by: .seconds(3600))
    }
  }

  private func ask(_ beginning: String) {
    let wait = [0, 1, 5, 20, 60].randomElement(using: &random) ?? 0
    send("\(beginning)\"wait\":\(wait)}", for: wait)
  }

  /// - Parameter seconds: within which the answer comes.
  private func send(_ line: String, for seconds: Int) {
    let client = fixture.connect()
    client.sendOnly(line)
    waiting.append(Waiting(client: client, due: fixture.now + .seconds(seconds), line: line))
  }

  /// Each time somebody else, so that no token is spared for its person's other one.
  private func link(to user: String) throws {
    provider.user = user
    people += 1
    // Mostly it works: what is looked for comes after it.
    if Int.random(in: 0..<4, using: &random) > 0 {
      provider.delay = .milliseconds(300)
      provider.faults = [:]
      host.refusals = []
    }
    let asked = try host.ask(LinkedHost.login)
    guard asked["Challenge"] != nil else { return }
    send(asked.response("response", "\"\(provider.browse(asked))\""), for: 120)
    if Int.random(in: 0..<4, using: &random) > 0 { fixture.advance(by: .seconds(1)) }
  }

  private func reload(_ next: String) throws {
    text = next
    try fixture.reload(next)
  }

  private func restart() throws {
    for one in waiting { one.client.leave() }
    waiting = []
    try fixture.restart(text)
    forgotten.formUnion(provider.live.subtracting(held))
  }

  // MARK: What must be so

  func expectAnswersInTime() throws {
    let now = fixture.now
    let next = fixture.service.sessions.values.compactMap(\.machine.nextWake).min()
    expect(next.map { $0 > now } ?? true, "\(description)")
    for (index, one) in waiting.enumerated().reversed() {
      if one.client.hasReadAll {
        expect(now <= one.due + .seconds(1), "no answer to \(one.line); \(description)")
        continue
      }
      waiting.remove(at: index)
      let reply = try one.client.next()
      expect(one.client.hasReadAll, "two answers to \(one.line); \(description)")
      guard reply["Challenge"]?["Step"]?.text == "confirm",
        Int.random(in: 0..<4, using: &random) > 0
      else { continue }
      send(reply.response("confirm", "true"), for: 120)
    }
    if forgotten.isEmpty { expect(provider.replays, equals: 0, "\(description)") }
  }

  /// Nothing hangs, nothing is left alive that nobody holds, and the user gets credentials.
  func expectOrderInTheEnd() throws {
    provider.faults = [:]
    provider.delay = .zero
    host.refusals = []
    try reload(Self.text)
    for _ in 0..<4 {
      fixture.advance(by: .seconds(300))
      try expectAnswersInTime()
    }
    expect(waiting.isEmpty && !fixture.service.owners.tokens.isAnyUnderWay, "\(description)")
    let orphans = provider.live.subtracting(held).subtracting(lost)
      .subtracting(provider.graced.map { [$0] } ?? [])
    expect(orphans.isEmpty, "\(description)")
    let login = try host.ask(#"{"op":"login","username":"alice","password":"alice-password"}"#)
    expect(login.state, equals: "signedIn", "\(login); \(description)")
    expect(try host.ask(#"{"refresh":true,"wait":60}"#).accessKeyID != nil, "\(description)")
    expect(try host.ask(#"{"op":"logout","revoke":true}"#).state, equals: "signedOut")
    fixture.advance(by: .seconds(60))
    expect(provider.live.subtracting(lost).isEmpty, "\(description)")
  }
}
