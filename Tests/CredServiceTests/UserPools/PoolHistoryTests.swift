import CredCore
import SeededRandom
import SimulationKit
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Random histories of a session at a user pool that rotates refresh tokens: outages, lost replies,
/// restarts, reloads, sign-ins and sign-outs, in virtual time.
struct PoolHistoryTests {
  private enum Act: CaseIterable {
    case signIn, signOut, get, refresh, token, outage, throttle, loseReply, restart, reload, wait,
      waitLong, account, clear, cancelledWait,
      clearMeanwhile, reloadMeanwhile, signOutMeanwhile
  }

  /// What must be so after each act.
  private struct Expected {
    var isSignedIn = false
    /// A reply was lost, and the pool takes the former token no more: the session cannot be saved.
    var isLost = false
  }

  @Test(arguments: 0..<UInt64(max(TestRounds.of(60), 6)))
  func noHistoryLosesASessionOrUsesATokenTwice(_ seed: UInt64) throws {
    var random: any RandomNumberGenerator = SeededGenerator(seed: seed)
    let text = Configured.userPool(
      profile: "vend_tokens = id\n", backend: "account_actions = get\n")
    let (fixture, pool) = try ServiceFixture.ofUserPool(text)
    pool.rotates = seed % 4 != 0
    pool.hasGrace = seed % 2 == 0
    var expected = Expected()
    var history: [Act] = []
    for _ in 0..<120 {
      guard let act = Act.allCases.randomElement(using: &random) else { return }
      history.append(act)
      try perform(act, fixture, pool, text, &expected)
      try check(fixture, pool, expected, "seed \(seed): \(history.suffix(12))")
    }
    // Some minutes after the last fault, who is signed in gets credentials.
    pool.faults = [:]
    fixture.advance(by: .seconds(900))
    guard expected.isSignedIn, !expected.isLost else { return }
    expect(
      try fixture.ask(#"{"wait":60}"#).accessKeyID != nil, "seed \(seed): \(history.suffix(12))")
  }

  private func perform(
    _ act: Act, _ fixture: ServiceFixture, _ pool: FakePool, _ text: String,
    _ expected: inout Expected
  ) throws {
    let renewals = "GetTokensFromRefreshToken"
    switch act {
    case .signIn:
      try fixture.signInAtPool(refresh: pool.begin())
      expected = Expected(isSignedIn: true)
    case .signOut:
      _ = try fixture.ask(#"{"op":"logout"}"#)
      expected = Expected()
    case .get: _ = try fixture.ask(#"{"wait":1}"#)
    case .refresh: _ = try fixture.ask(#"{"refresh":true,"wait":5}"#)
    case .token: _ = try fixture.ask(#"{"op":"token","refresh":true,"wait":5}"#)
    case .account: _ = try fixture.ask(#"{"op":"account","action":"get"}"#)
    case .outage:
      pool.faults[renewals] = [.failure(.connect), .failure(.reset), .reply(500, "")]
    case .throttle:
      pool.faults[renewals] = [FakePool.refusal("TooManyRequestsException", "Rate exceeded")]
    case .loseReply:
      pool.faults = [:]
      let before = pool.operations.count
      pool.lostReplies = 1
      _ = try fixture.ask(#"{"refresh":true,"wait":5}"#)
      let wasUsed = pool.lostReplies == 0 && pool.operations.count > before
      if wasUsed, pool.rotates, !pool.hasGrace { expected.isLost = true }
      pool.lostReplies = 0
    case .restart: try fixture.restart(text)
    case .reload: try fixture.reload(text + "\n")
    case .wait: fixture.advance(by: .seconds(40))
    case .waitLong: fixture.advance(by: .seconds(3000))
    case .clear: _ = try fixture.ask(#"{"op":"clear","what":"credentials"}"#)
    case .clearMeanwhile, .reloadMeanwhile, .signOutMeanwhile:
      pool.delays[renewals] = .seconds(1)
      defer { pool.delays = [:] }
      let client = fixture.connect()
      client.send(#"{"refresh":true,"wait":5}"#)
      switch act {
      case .clearMeanwhile: _ = try fixture.ask(#"{"op":"clear","what":"credentials"}"#)
      case .reloadMeanwhile:
        try fixture.reload(
          text.replacing(
            "[profile default]",
            with: "[profile default]\nrole_arn = arn:aws:iam::123456789012:role/r"))
        try fixture.reload(text)
      default:
        _ = try fixture.ask(#"{"op":"logout"}"#)
        expected = Expected()
      }
      fixture.advance(by: .seconds(10))
    case .cancelledWait:
      let client = fixture.connect()
      client.sendOnly(#"{"refresh":true,"wait":5}"#)
      client.leave()
      fixture.advance(by: .seconds(10))
    }
  }

  private func check(
    _ fixture: ServiceFixture, _ pool: FakePool, _ expected: Expected, _ history: String
  ) throws {
    let state = try fixture.ask(#"{"op":"identity"}"#).state
    if !expected.isSignedIn {
      expect(state, equals: "signedOut", "\(history)")
    } else if expected.isLost {
      expect(state == "signedIn" || state == "tokensInvalid", "\(history)")
    } else {
      expect(state, equals: "signedIn", "\(history)")
      expect(pool.misuses, equals: 0, "\(history)")
    }
    if expected.isSignedIn, !expected.isLost,
      let session = fixture.service.sessions[SessionKey(uid: 1000, profile: "default")]
    {
      let held = session.machine.state.providerSession?.refreshToken.exposedText() ?? ""
      expect(pool.live.contains(held), "\(history)")
    }
  }
}
