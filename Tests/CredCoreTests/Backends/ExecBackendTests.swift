import CredCore
import TestSupport
import Testing

struct ExecBackendTests {
  private let backend = ExecBackend(name: "corp")

  private func failure(_ outcome: ExecOutcome) -> UpstreamFailure? {
    CredCoreTests.failure { () throws(UpstreamFailure) in
      let query: TokenQuery
      do { query = try Samples.query } catch { return }
      _ = try backend.token(from: outcome, to: query)
    }
  }

  @Test func sharesTheJSONOfTheHTTPBackend() throws {
    let input = try backend.standardInput(Samples.query)
    expect(
      input.exposedText(),
      equals:
        #"{"IdentityPoolId":"\#(Samples.poolText)","DeveloperProviderName":"login.example.app","#
        + #""DeveloperUserIdentifier":"alice"}"# + "\n")
    let outcome = ExecOutcome(
      ending: .exited(0), standardOutput: Secret(TokenCallbackTests.body + "\n"),
      standardError: Array("a warning".utf8))
    expect(
      try backend.token(from: outcome, to: Samples.query).identity, equals: try Samples.identity)
  }

  @Test(
    arguments: [
      (.exited(67), .unknownUser, .backendRejected, .expected),
      (.exited(69), .transient(retryAfter: nil), .backendUnavailable, .expected),
      (.exited(75), .transient(retryAfter: nil), .backendUnavailable, .expected),
      (.exited(77), .refusedByBackend, .backendRejected, .expected),
      (.exited(64), .permanentConfiguration, .backendUnavailable, .operatorMustAct),
      (.exited(78), .permanentConfiguration, .backendUnavailable, .operatorMustAct),
      (.exited(126), .permanentConfiguration, .backendUnavailable, .operatorMustAct),
      (.exited(127), .permanentConfiguration, .backendUnavailable, .operatorMustAct),
      (.exited(1), .transient(retryAfter: nil), .backendUnavailable, .operatorMustAct),
      (.exited(255), .transient(retryAfter: nil), .backendUnavailable, .operatorMustAct),
      (.killed(11), .transient(retryAfter: nil), .backendUnavailable, .operatorMustAct),
      (.timedOut, .transient(retryAfter: nil), .backendUnavailable, .expected),
      (.outputTooLarge, .transient(retryAfter: nil), .backendUnavailable, .operatorMustAct),
      (
        .notStarted(StartFailure(reason: "Permission denied")), .permanentConfiguration,
        .backendUnavailable, .operatorMustAct
      ),
      (
        .notStarted(StartFailure(reason: "Cannot allocate memory", isTransient: true)),
        .transient(retryAfter: nil), .backendUnavailable, .operatorMustAct
      ),
    ] as [(ExecOutcome.Ending, FailureClass, ProtocolErrorCode, UpstreamFailure.Severity)])
  func endings(
    ending: ExecOutcome.Ending, failureClass: FailureClass, code: ProtocolErrorCode,
    severity: UpstreamFailure.Severity
  ) {
    // The output of a command that fails is ignored.
    let failure = failure(
      ExecOutcome(
        ending: ending, standardOutput: Secret(TokenCallbackTests.body),
        standardError: Array("vault\u{7} is sealed\nsecond line".utf8)))
    expect(failure?.failureClass, equals: failureClass)
    expect(failure?.code, equals: code)
    expect(failure?.severity, equals: severity)
    expect(failure?.message.hasPrefix("backend 'corp'") == true)
    expect(failure?.message.hasSuffix(": vault is sealed)") == true)
  }

  @Test(arguments: ["", "null", "{}", "Token: x"])
  func refusesOutputThatIsNoReply(output: String) {
    let failure = failure(ExecOutcome(ending: .exited(0), standardOutput: Secret(output)))
    expect(failure?.code, equals: .backendUnavailable)
    expect(failure?.severity, equals: .operatorMustAct)
  }
}
