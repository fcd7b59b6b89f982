import TestSupport
import Testing

@testable import CredCore

/// Calls to an upstream endpoint that gives no answers.
struct AdmissionOutageTests {
  @Test func afterFiveFailuresInARowCallsStop() {
    var gate = AdmissionDriver()
    gate.fail(4)
    expect(gate.admission.outage == nil)
    gate.fail()
    expect(gate.admission.outage?.since, equals: gate.now)
    let refused = gate.ask()
    expect(gate.admitted.count, equals: 5)
    let failure = gate.refused[refused]
    expect(failure?.isWithheld == true)
    expect(failure?.failureClass, equals: .transient(retryAfter: .seconds(1)))
    expect(
      failure?.message.hasPrefix(
        "offline since 2026-01-01T00:00:00Z, retrying at 2026-01-01T00:00:01Z: backend 'corp' cannot "
          + "be reached") == true)
  }

  @Test func anAnswerResetsTheCountOfFailures() {
    var gate = AdmissionDriver()
    gate.fail(4)
    gate.end(gate.ask())
    gate.fail(4)
    expect(gate.admission.outage == nil)
  }

  @Test(arguments: [
    FailureClass.newTokenOnce, .dropIdentityThenNewToken, .retryWithoutIdentity, .newIdentity,
    .signInRequired, .signInFailed, .refusedByBackend, .unknownUser, .conflict,
    .poolMisconfigured, .permanentConfiguration,
  ])
  func aRefusalCountsAsAnAnswer(_ failureClass: FailureClass) {
    var gate = AdmissionDriver()
    let refusal = UpstreamFailure(
      upstream: AdmissionDriver.upstream, failureClass: failureClass, code: .backendRejected,
      message: "no", severity: .expected)
    gate.fail(20, refusal)
    expect(gate.admission.outage == nil)
  }

  @Test func oneProbeIsMadeAndTheOtherCallsWaitForIt() {
    var gate = AdmissionDriver()
    gate.fail(5)
    gate.advance(by: 1)
    let probe = gate.ask()
    let others = [gate.ask(), gate.ask(inPerson: true)]
    expect(gate.admitted.count == 6 && gate.admitted.last == probe)
    gate.end(probe)
    expect(gate.admission.outage == nil)
    expect(Set(gate.admitted).isSuperset(of: others))
  }

  @Test func aFailedProbeDoublesThePause() {
    var gate = AdmissionDriver()
    gate.fail(5)
    var pauses: [Duration] = []
    for _ in 0..<8 {
      gate.advance(by: 61)
      let probe = gate.ask()
      let waiting = gate.ask()
      gate.end(probe, AdmissionDriver.unavailable)
      expect(gate.refused[waiting] != nil)
      pauses.append(gate.admission.outage.map { $0.retryAt - gate.now } ?? .zero)
    }
    expect(pauses.map(\.inSeconds), equals: [2, 4, 8, 16, 32, 60, 60, 60])
  }

  @Test func aWaitingClientIsTriedEarlier() {
    var gate = AdmissionDriver()
    gate.fail(5)
    for _ in 0..<5 {
      gate.advance(by: 61)
      gate.end(gate.ask(), AdmissionDriver.unavailable)
    }
    let hasty = gate.ask(inPerson: true)
    expect(gate.refused[hasty] != nil)
    gate.advance(by: 1)
    let background = gate.ask()
    expect(gate.refused[background] != nil)
    let person = gate.ask(inPerson: true)
    expect(gate.admitted.last, equals: person)
  }

  private static func throttled(_ pause: Duration) -> UpstreamFailure {
    UpstreamFailure(
      AdmissionDriver.upstream, FailureTable.throttledByStatus, retryAfter: pause)
  }

  @Test func oneUsersFailuresStopNoCallOfOthers() {
    var gate = AdmissionDriver()
    let failure = UpstreamFailure(
      AdmissionDriver.upstream, FailureTable.serverFault, fact: "status 500", said: "bob is odd")
    for _ in 0..<20 { gate.end(gate.ask(user: 1001), failure) }
    expect(gate.admission.outage == nil)
    // That user's own calls stop, and are told so in the words about that user.
    let own = gate.ask(user: 1001)
    expect(gate.refused[own]?.isWithheld == true)
    expect(gate.refused[own]?.message.contains("bob is odd") == true)
    let other = gate.ask(user: 1002)
    expect(gate.admitted.last, equals: other)
    gate.end(other)
    gate.advance(by: 100)
    let probe = gate.ask(user: 1001)
    expect(gate.admitted.last, equals: probe)
    let second = gate.ask(user: 1001)
    expect(gate.refused[second] != nil)
    gate.end(probe)
    let last = gate.ask(user: 1001)
    expect(gate.admitted.last, equals: last)
  }

  /// Sessions of its former and of its next owner ask by turns.
  @Test func failuresOfAUidThatChangesHandsStopNoCallOfOthers() {
    var gate = AdmissionDriver()
    let failure = UpstreamFailure(
      AdmissionDriver.upstream, FailureTable.serverFault, fact: "status 500", said: "bob is odd")
    for round in 0..<10 {
      gate.end(gate.ask(user: 1001, name: round.isMultiple(of: 2) ? "bob" : "carol"), failure)
    }
    let other = gate.ask(user: 1002, name: "dave")
    expect(gate.admission.outage == nil)
    expect(gate.admitted.last == other && gate.refused[other] == nil)
  }

  /// The next owner of a uid is neither told of the former's failures nor held up by them.
  @Test func aFormerOwnersFailuresAreNotThoseOfTheNext() {
    var gate = AdmissionDriver()
    let failure = UpstreamFailure(
      AdmissionDriver.upstream, FailureTable.serverFault, fact: "status 500", said: "bob is odd")
    for _ in 0..<20 { gate.end(gate.ask(user: 1001, name: "bob"), failure) }
    let own = gate.ask(user: 1001, name: "bob")
    expect(gate.refused[own] != nil)
    let next = gate.ask(user: 1001, name: "carol")
    expect(gate.admitted.last == next && gate.refused[next] == nil)
  }

  @Test func failuresOfSeveralUsersStopCalls() {
    var gate = AdmissionDriver()
    let failure = UpstreamFailure(
      AdmissionDriver.upstream, FailureTable.serverFault, fact: "status 500", said: "bob is odd")
    for user in 1...5 { gate.end(gate.ask(user: UInt32(user)), failure) }
    let next = gate.ask(user: 6)
    let refused = gate.refused[next]
    expect(refused?.isWithheld == true)
    // What the backend said of one user is for no other.
    expect(refused?.message.contains("bob") == false)
    expect(refused?.message.hasSuffix("has a fault; it is tried again (status 500)") == true)
  }

  @Test func whatNoUserCausesStopsCallsOfAll() {
    var gate = AdmissionDriver()
    for _ in 0..<5 { gate.end(gate.ask(user: 1001), AdmissionDriver.unavailable) }
    expect(gate.admission.outage != nil)
  }

  @Test(arguments: [400, 401, 403, 404, 408, 409, 422])
  func anAnswerAboutARequestIsNoOutage(_ status: Int) {
    var gate = AdmissionDriver()
    let failure = UpstreamFailure.backend(
      HTTPReply(status: status, body: Secret([])), from: AdmissionDriver.upstream, said: nil)
    for user in 1...20 { gate.end(gate.ask(user: UInt32(user)), failure) }
    expect(gate.admission.outage == nil)
  }

  @Test func retryAfterBindsAllCallsForAnHourAtMost() {
    var gate = AdmissionDriver()
    gate.fail(4)
    gate.fail(1, Self.throttled(.seconds(30)))
    gate.advance(by: 29)
    let early = gate.ask(inPerson: true)
    expect(gate.refused[early]?.failureClass, equals: .throttled(retryAfter: .seconds(1)))
    gate.advance(by: 1)
    let probe = gate.ask(inPerson: true)
    expect(gate.admitted.last, equals: probe)
    gate.end(probe, Self.throttled(.seconds(1 << 40)))
    expect(gate.admission.outage.map { $0.retryAt - gate.now }, equals: .seconds(3600))
  }

  @Test func aLateAnswerToAnEarlierCallEndsTheOutage() {
    var gate = AdmissionDriver()
    let slow = gate.ask()
    gate.fail(5)
    gate.end(slow)
    expect(gate.admission.outage == nil)
  }

  @Test func aCallThatWasNotSentSaysNothingAboutTheEndpoint() {
    var gate = AdmissionDriver()
    gate.fail(5)
    gate.advance(by: 1)
    gate.end(
      gate.ask(),
      .notSent(InvalidInput(field: "url", reason: "is bad"), to: AdmissionDriver.upstream)
    )
    expect(gate.admission.outage != nil)
    let next = gate.ask()
    expect(gate.admitted.last, equals: next)
  }

  @Test(arguments: [FailureClass.transient(retryAfter: nil), .throttled(retryAfter: .seconds(900))])
  func failuresOfUserInputDoNotStopOtherCalls(_ failureClass: FailureClass) {
    let failure = UpstreamFailure(
      upstream: AdmissionDriver.upstream, failureClass: failureClass, code: .throttled,
      message: "not you", severity: .expected)
    var gate = AdmissionDriver()
    for _ in 0..<20 { gate.end(gate.ask(inPerson: true, dependsOnUserInput: true), failure) }
    expect(gate.admission.outage == nil)
    // Nor does it prove that the upstream is back.
    gate.fail(5)
    gate.advance(by: 1)
    gate.end(gate.ask(inPerson: true, dependsOnUserInput: true), failure)
    expect(gate.admission.outage != nil)
    let next = gate.ask()
    expect(gate.admitted.last, equals: next)
    gate.end(next)
    expect(gate.admission.outage == nil)
  }
}
