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
