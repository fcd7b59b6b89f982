import SeededRandom
import TestSupport
import Testing

@testable import CredCore

struct AuthorizationResponseTests {
  private static let state = Secret("state-1234567890")

  private func judge(
    _ query: String, sendsIssuer: Bool = false
  ) throws -> AuthorizationResponse {
    let announced = [
      (
        "authorization_response_iss_parameter_supported",
        (sendsIssuer ? "true" : "false") as String?
      )
    ]
    return AuthorizationResponse.judge(
      Secret(query), state: Self.state, from: try OIDCSamples.provider(announced), for: "okta")
  }

  private static let iss = "iss=https%3A%2F%2Flogin.example.com%2F"
  private static let ours = "state=state-1234567890"

  @Test func theCodeOfThisSignInIsTaken() throws {
    let code = AuthorizationResponse.code(Secret("c/1+ %"))
    let query = "\(Self.ours)&code=c%2F1%2B+%25"
    expect(try judge(query), equals: code)
    expect(try judge("session_state=x&\(query)&foo=bar&foo=bar"), equals: code)
    expect(try judge("\(query)&\(Self.iss)", sendsIssuer: true), equals: code)
    expect(try judge("\(query)&\(Self.iss)"), equals: code)
    expect(try judge("st%61te=state-1234567890&code=c%2f1%2b%20%25"), equals: code)
  }

  @Test func anotherStateLeavesTheSignInAsItWas() throws {
    for query in [
      "", "code=x", "state=&code=x", "state=state-1234567891&code=x", "state=state-123456789",
      "state=state-1234567890x&code=x", "error=access_denied", "state=STATE-1234567890&code=x",
      "\(Self.ours)&\(Self.ours)&code=x", "state=x&\(Self.ours)&code=x",
      "\(Self.ours)&%73tate=other&code=x", "\(Self.ours)&code=%", "\(Self.ours)&code=%4",
      "\(Self.ours)&code=\u{e9}", "\(Self.ours)&code=a b",
      String(repeating: "a&", count: 100) + "\(Self.ours)&code=x",
      "\(Self.ours)&code=" + String(repeating: "x", count: Limits.OIDC.responseBytes),
    ] {
      let judged = try judge(query, sendsIssuer: true)
      guard case .foreign = judged else {
        Issue.record("\(query.prefix(60)) is \(judged)")
        continue
      }
    }
  }

  @Test func anotherIssuersAnswerEndsTheSignIn() throws {
    for (query, sendsIssuer) in [
      ("\(Self.ours)&code=x&iss=https%3A%2F%2Fevil.example", false),
      ("\(Self.ours)&code=x&iss=https%3A%2F%2Flogin.example.com", false),
      ("\(Self.ours)&code=x&\(Self.iss)&\(Self.iss)", false),
      ("\(Self.ours)&code=x", true),
      // Before its error is read: another provider's says nothing.
      ("\(Self.ours)&error=access_denied", true),
    ] {
      guard case .failed(let failure) = try judge(query, sendsIssuer: sendsIssuer) else {
        Issue.record("\(query) was not refused")
        continue
      }
      expect(failure.message.contains("iss"))
      expect(failure.failureClass, equals: .signInFailed)
    }
  }

  @Test func anErrorIsToldWithoutWhatCouldCommandATerminal() throws {
    let query =
      "\(Self.ours)&error=access_denied&error_description=No%1B%5B2Jway+state-1234567890&code=x"
    guard case .failed(let failure) = try judge(query) else {
      Issue.record("the error was not seen")
      return
    }
    expect(failure.failureClass, equals: .signInFailed)
    expect(failure.code, equals: .signInFailed)
    expect(failure.reason, equals: "AccessDenied")
    expect(failure.message.contains("No [2Jway …"))
    expect(!failure.message.utf8.contains(0x1B))
  }

  @Test func everyErrorHasItsMeaning() throws {
    let rows: [(String, FailureClass, UpstreamFailure.Severity)] = [
      ("login_required", .signInFailed, .expected),
      ("interaction_required", .signInFailed, .expected),
      ("consent_required", .signInFailed, .expected),
      ("account_selection_required", .signInFailed, .expected),
      ("invalid_request", .permanentConfiguration, .operatorMustAct),
      ("unauthorized_client", .permanentConfiguration, .operatorMustAct),
      ("unsupported_response_type", .permanentConfiguration, .operatorMustAct),
      ("invalid_scope", .permanentConfiguration, .operatorMustAct),
      ("temporarily_unavailable", .transient(retryAfter: nil), .expected),
      ("server_error", .transient(retryAfter: nil), .expected),
      ("something_new", .signInFailed, .operatorMustAct),
      ("%3Cscript%3E", .signInFailed, .operatorMustAct),
      ("", .signInFailed, .operatorMustAct),
    ]
    for (name, failureClass, severity) in rows {
      guard case .failed(let failure) = try judge("\(Self.ours)&error=\(name)") else {
        Issue.record("\(name) was not seen")
        continue
      }
      expect(failure.failureClass, equals: failureClass, "\(name)")
      expect(failure.severity, equals: severity, "\(name)")
      expect(!failure.message.contains("<"))
    }
  }

  @Test func aCodeIsOneAndUsable() throws {
    for query in [
      Self.ours, "\(Self.ours)&code=", "\(Self.ours)&code=a&code=a", "\(Self.ours)&code=a%0Ab",
      "\(Self.ours)&error=a&error=b",
      "\(Self.ours)&code=" + String(repeating: "x", count: Limits.OIDC.codeBytes + 1),
    ] {
      guard case .failed = try judge(query) else {
        Issue.record("\(query.prefix(60)) was taken")
        continue
      }
    }
    let long = String(repeating: "x", count: 5000)
    expect(try judge("\(Self.ours)&code=\(long)"), equals: .code(Secret(long)))
  }

  /// Whatever comes: only the very state leads anywhere.
  @Test func noMixedUpQueryIsTakenForThisSignIn() throws {
    var generator = SeededGenerator(seed: 16)
    let parts = [
      Self.ours, "state=other", "code=x", "error=e", Self.iss, "iss=y", "%", "&", "=", "state",
      "code", "st%61te=state-1234567890", "\u{0}",
    ]
    for _ in 0..<2000 {
      let count = Int.random(in: 0...6, using: &generator)
      let chosen = (0..<count).compactMap { _ in parts.randomElement(using: &generator) }
      let judged = try judge(chosen.joined(separator: "&"))
      let ours = chosen.filter { $0 == Self.ours || $0.hasPrefix("st%61te") }.count
      let states = chosen.filter { $0.hasPrefix("st") }.count
      if case .foreign = judged {
        expect(ours != 1 || states != 1 || chosen.contains("%") || chosen.contains("\u{0}"))
      } else {
        expect(ours == 1 && states == 1)
      }
      if case .code = judged {
        expect(chosen.filter { $0.hasPrefix("code") }.count, equals: 1)
        expect(!chosen.contains("error=e") && !chosen.contains("iss=y"))
      }
    }
  }
}
