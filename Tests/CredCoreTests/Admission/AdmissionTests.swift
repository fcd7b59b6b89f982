import TestSupport
import Testing

@testable import CredCore

struct AdmissionTests {
  @Test func anIdleEndpointAdmitsACallAtOnce() {
    var gate = AdmissionDriver()
    let call = gate.ask()
    expect(gate.admitted, equals: [call])
    expect(gate.admission.nextWake, equals: .distantFuture)
  }

  // MARK: Rate and width

  @Test func callsAboveTheRateWait() {
    var gate = AdmissionDriver(rate: .perSecond(5))
    for _ in 0..<4 { gate.ask() }
    expect(gate.admitted, equals: [1])
    expect(gate.admission.nextWake, equals: gate.now + .milliseconds(200))
    gate.advance(by: 0.2)
    expect(gate.admitted, equals: [1, 2])
    gate.advance(by: 0.4)
    expect(gate.admitted, equals: [1, 2, 3, 4])
  }

  @Test func callsAboveTheWidthWaitForAnEnd() {
    var gate = AdmissionDriver(width: 2)
    for _ in 0..<3 { gate.ask() }
    expect(gate.admitted, equals: [1, 2])
    gate.end(2)
    expect(gate.admitted, equals: [1, 2, 3])
  }

  @Test func changedLimitsHoldFromTheNextCall() {
    var admission = Admission(AdmissionDriver.upstream, .init(rate: .perMinute(1), width: 1))
    admission.apply(.init(rate: .perSecond(100), width: 8))
    var callIDs = CallIDs()
    let asked = (1...8).flatMap { _ in
      admission.handle(
        .asked(.init(id: callIDs.next(), profile: "", isInPerson: false, isRetry: false)),
        now: .seconds(1),
        wallTime: WallTime(milliseconds: 0))
    }
    expect(asked.count, equals: 8)
  }

  // MARK: Further requests of a call

  @Test func aFurtherRequestTakesATurnOfTheRate() {
    var gate = AdmissionDriver(rate: .perSecond(5))
    let call = gate.ask()
    gate.send(.askedAgain(call))
    expect(gate.admitted, equals: [call])
    expect(gate.admission.nextWake, equals: gate.now + .milliseconds(200))
    gate.advance(by: 0.2)
    expect(gate.admitted, equals: [call, call])
    expect(gate.admission.nextWake, equals: .distantFuture)
  }

  /// The tokens that it sends once more are good for some seconds.
  @Test func aFurtherRequestGoesFirstAndTheCallKeepsItsPlace() {
    var gate = AdmissionDriver(rate: .perSecond(5), width: 1)
    let call = gate.ask()
    let person = gate.ask(inPerson: true)
    let check = gate.ask(isCheck: true)
    gate.send(.askedAgain(call))
    gate.advance(by: 1)
    expect(gate.admitted, equals: [call, call])
    gate.end(call)
    gate.advance(by: 1)
    expect(gate.admitted, equals: [call, call, person])
    gate.end(person)
    expect(gate.admitted.last, equals: check)
  }

  /// The call has begun: its outcome is what says whether the outage is over.
  @Test func anOutageStopsNoFurtherRequest() {
    var gate = AdmissionDriver()
    let call = gate.ask()
    gate.fail(5)
    expect(gate.admission.outage != nil)
    gate.send(.askedAgain(call))
    expect(gate.admitted.last, equals: call)
    gate.end(call)
    expect(gate.admission.outage == nil)
  }

  @Test func aCallThatIsCancelledBetweenTwoRequestsGivesItsPlaceBack() {
    var gate = AdmissionDriver(rate: .perSecond(5), width: 1)
    let call = gate.ask()
    let next = gate.ask()
    gate.send(.askedAgain(call))
    gate.send(.cancelled(call))
    gate.advance(by: 0.2)
    expect(gate.admitted, equals: [call, next])
  }

  @Test func aFurtherRequestWaitsAtMostAMinute() {
    var gate = AdmissionDriver(rate: .perMinute(1), width: 2)
    let call = gate.ask()
    gate.send(.askedAgain(call))
    gate.advance(by: 59)
    expect(gate.refused[call] == nil)
    gate.advance(by: 1)
    expect(gate.refused[call]?.code, equals: .throttled)
    expect(gate.admitted, equals: [call])
    // It is under way until its end is reported.
    gate.end(call, gate.refused[call])
    expect(gate.admission.outage == nil)
    expect(gate.admission.nextWake, equals: .distantFuture)
  }

  // MARK: Order

  @Test func callsWithAWaitingClientGoFirst() {
    var gate = AdmissionDriver(width: 1)
    for _ in 0..<3 { gate.ask() }
    let person = gate.ask(inPerson: true)
    gate.end(1)
    expect(gate.admitted, equals: [1, person])
  }

  @Test func aPrioritisedCallGoesFirst() {
    var gate = AdmissionDriver(width: 1)
    for _ in 0..<3 { gate.ask() }
    gate.send(.prioritised(3))
    gate.end(1)
    gate.end(3)
    expect(gate.admitted, equals: [1, 3, 2])
  }

  @Test func profilesTakeTurns() {
    var gate = AdmissionDriver(width: 1)
    gate.ask("busy")
    for _ in 0..<50 { gate.ask("busy") }
    let quiet = gate.ask("quiet")
    gate.end(1)
    gate.end(2)
    expect(gate.admitted.contains(quiet))
  }

  @Test func aCancelledCallIsNotMade() {
    var gate = AdmissionDriver(width: 1)
    for _ in 0..<3 { gate.ask() }
    gate.send(.cancelled(2))
    gate.end(1)
    expect(gate.admitted, equals: [1, 3])
    // Under way already: it goes on, and its end counts.
    gate.send(.cancelled(3))
    let next = gate.ask()
    expect(gate.admitted, equals: [1, 3])
    gate.end(3)
    expect(gate.admitted, equals: [1, 3, next])
  }

  @Test func theQueueOfBackgroundRefreshesIsBounded() {
    var gate = AdmissionDriver(width: 1)
    for _ in 0...Admission.queueLimit { gate.ask() }
    let late = gate.ask()
    expect(gate.refused[late]?.failureClass, equals: .throttled(retryAfter: .seconds(5)))
    let person = gate.ask(inPerson: true)
    expect(gate.refused[person] == nil)
  }

  @Test func cancelledCallsTakeNoPlaceInTheQueue() {
    var gate = AdmissionDriver(width: 1)
    gate.ask()
    for _ in 0...Admission.queueLimit { gate.send(.cancelled(gate.ask())) }
    let next = gate.ask()
    expect(gate.refused.isEmpty)
    gate.end(1)
    expect(gate.admitted, equals: [1, next])
  }

  @Test func aCallWaitsAtMostAMinute() {
    var gate = AdmissionDriver(width: 1)
    gate.ask()
    let second = gate.ask()
    gate.advance(by: 59)
    expect(gate.refused[second] == nil)
    gate.advance(by: 1)
    expect(gate.refused[second]?.code, equals: .throttled)
    // It has left the queue.
    gate.end(1)
    expect(gate.admitted, equals: [1])
  }

  // MARK: Outages

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

  // MARK: Checks

  @Test func aCheckGoesBehindWaitingClientsAndAheadOfOtherCalls() {
    var gate = AdmissionDriver(width: 1)
    let first = gate.ask()
    let background = gate.ask()
    let check = gate.ask(isCheck: true)
    let person = gate.ask(inPerson: true)
    for id in [first, person, check] { gate.end(id) }
    expect(gate.admitted, equals: [first, person, check, background])
  }

  @Test func aCheckCountsAgainstRateAndWidth() {
    var gate = AdmissionDriver(rate: .perSecond(5), width: 2)
    let checks = (0..<3).map { _ in gate.ask(isCheck: true) }
    expect(gate.admitted, equals: [checks[0]])
    gate.advance(by: 0.2)
    expect(gate.admitted, equals: [checks[0], checks[1]])
    gate.advance(by: 1)
    expect(gate.admitted.count, equals: 2)
    gate.end(checks[0])
    expect(gate.admitted, equals: checks)
    gate.advance(by: 1)
    expect(gate.ask(inPerson: true) != gate.admitted.last)
  }

  @Test func aCheckIsMadeDuringAnOutageAndSaysNothingAboutOtherCalls() {
    var gate = AdmissionDriver()
    for _ in 0..<20 { gate.end(gate.ask(isCheck: true), AdmissionDriver.unavailable) }
    expect(gate.admission.outage == nil)
    gate.fail(5)
    let outage = gate.admission.outage
    expect(outage != nil)
    let check = gate.ask(isCheck: true)
    expect(gate.admitted.last, equals: check)
    gate.end(check)
    expect(gate.admission.outage?.retryAt, equals: outage?.retryAt)
    let other = gate.ask()
    expect(gate.refused[other] != nil)
  }

  @Test func aCheckThatWaitsTooLongIsRefusedAndOneThatIsCancelledIsNotMade() {
    var gate = AdmissionDriver(width: 1)
    let first = gate.ask()
    let late = gate.ask(isCheck: true)
    let cancelled = gate.ask(isCheck: true)
    gate.send(.cancelled(cancelled))
    gate.advance(by: 61)
    expect(gate.refused[late] != nil)
    gate.end(first)
    expect(gate.admitted, equals: [first])
    expect(gate.admission.nextWake, equals: .distantFuture)
  }

  // MARK: Retries

  @Test func failedRetriesAreAShareOfTheCallsThatSucceed() {
    var gate = AdmissionDriver(rate: .perSecond(10_000))
    var failed = 0
    for round in 0..<1000 {
      let isRetry = round % 2 == 0
      let call = gate.ask(isRetry: isRetry)
      guard gate.admitted.last == call else { continue }
      if isRetry { failed += 1 }
      gate.end(call, isRetry ? AdmissionDriver.unavailable : nil)
    }
    expect(failed <= 20 + 500 / 5 + 1)
    expect(failed >= 100)
  }

  @Test func anUpstreamThatWorksTakesAnyNumberOfRetries() {
    var gate = AdmissionDriver(rate: .perSecond(10_000))
    for _ in 0..<1000 { gate.end(gate.ask(isRetry: true)) }
    expect(gate.admitted.count, equals: 1000)
  }

  @Test func aWaitingClientsRetryIsAlwaysMade() {
    var gate = AdmissionDriver()
    for _ in 0..<40 {
      gate.end(gate.ask(isRetry: true), AdmissionDriver.unavailable)
      gate.end(gate.ask())
    }
    expect(gate.refused.count > 0)
    let person = gate.ask(inPerson: true, isRetry: true)
    expect(gate.admitted.last, equals: person)
  }
}
