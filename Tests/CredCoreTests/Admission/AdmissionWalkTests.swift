import SeededRandom
import TestSupport
import Testing

@testable import CredCore

/// Anything in any order, and what must hold: the reckoning is the test's own.
struct AdmissionWalkTests {
  private static let lanes = ["a", "b", "c"]
  private static let failures: [FailureClass?] = [
    nil, nil, nil, .transient(retryAfter: nil), .transient(retryAfter: .seconds(3)),
    .throttled(retryAfter: nil), .throttled(retryAfter: .seconds(40)), .unknownUser,
    .permanentConfiguration,
  ]

  @Test(arguments: 0..<UInt64(TestRounds.of(60)))
  func everyCallEndsAndNoLimitIsExceeded(_ seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let rate = Rate.perSecond([1, 5, 30, 200].randomElement(using: &generator) ?? 1)
    let width = [1, 4, 32].randomElement(using: &generator) ?? 1
    var gate = AdmissionDriver(rate: rate, width: width)
    var open: [CallID: Instant] = [:]
    var underWay: Set<CallID> = []
    /// Those of them that wait to send one more request.
    var again: [CallID: Instant] = [:]
    var seen = 0
    for _ in 0..<3000 {
      let before = gate.now
      switch Int.random(in: 0..<11, using: &generator) {
      case 0..<4:
        let (time, lane) = (gate.now, Self.lanes.randomElement(using: &generator) ?? "")
        let call = gate.ask(
          lane, inPerson: .random(using: &generator), isRetry: .random(using: &generator))
        open[call] = time
      case 4:
        let calls = open.keys.sorted() + again.keys.sorted()
        let call = calls.randomElement(using: &generator) ?? 0
        gate.send(.cancelled(call))
        if again.removeValue(forKey: call) != nil { underWay.remove(call) }
        if !underWay.contains(call) { open[call] = nil }
      case 5: gate.send(.prioritised(open.keys.sorted().randomElement(using: &generator) ?? 0))
      case 6..<9:
        let sent = underWay.filter { again[$0] == nil }
        guard let call = sent.sorted().randomElement(using: &generator) else { break }
        underWay.remove(call)
        let failure = (Self.failures.randomElement(using: &generator) ?? nil).map {
          UpstreamFailure(
            upstream: AdmissionDriver.upstream, failureClass: $0, code: .backendUnavailable,
            message: "no", severity: .expected)
        }
        gate.end(call, failure)
      case 9:
        let sent = underWay.filter { again[$0] == nil }
        guard let call = sent.sorted().randomElement(using: &generator) else { break }
        again[call] = gate.now
        gate.send(.askedAgain(call))
      default: gate.advance(by: .random(in: 0..<2, using: &generator))
      }
      let hasPassed = gate.now > before
      for id in gate.admitted[seen...] {
        if again.removeValue(forKey: id) != nil { continue }
        expect(open.removeValue(forKey: id) != nil, "\(id) admitted twice or unasked")
        underWay.insert(id)
      }
      seen = gate.admitted.count
      for (id, failure) in gate.refused {
        open[id] = nil
        guard again.removeValue(forKey: id) != nil else { continue }
        underWay.remove(id)
        gate.end(id, failure)
      }
      expect(underWay.count <= width)
      expect(gate.admission.nextWake > gate.now)
      // Calls get older only as time passes.
      let times = Array(open.values) + Array(again.values)
      if hasPassed { expect(times.allSatisfy { gate.now - $0 <= .seconds(60) }) }
    }
    for call in again.keys.sorted() {
      gate.send(.cancelled(call))
      underWay.remove(call)
    }
    checkRate(gate.times, rate)
    checkPlaces(&gate, underWay, width)
  }

  /// Each call takes a token of a bucket that holds a burst and is filled at the rate.
  private func checkRate(_ times: [Instant], _ rate: Rate) {
    var (tokens, counted) = (Double(rate.burst), times.first ?? .seconds(0))
    for time in times {
      tokens += (time - counted).inSeconds * Double(rate.count) / rate.unit.duration.inSeconds
      tokens = min(tokens, Double(rate.burst)) - 1
      counted = time
      expect(tokens > -0.001)
    }
  }

  /// When all calls have ended, each place is free again: no more and no fewer.
  private func checkPlaces(_ gate: inout AdmissionDriver, _ underWay: Set<CallID>, _ width: Int) {
    var seen = gate.admitted.count
    for id in underWay { gate.end(id) }
    // Those that wait get their turn or are refused, and an answer ends the outage.
    for _ in 0..<140 {
      gate.advance(by: 1)
      while seen < gate.admitted.count {
        gate.end(gate.admitted[seen])
        seen += 1
      }
      if gate.admission.outage != nil { gate.ask(inPerson: true) }
    }
    let ended = gate.admitted.count
    for _ in 0...width { gate.ask(inPerson: true) }
    gate.advance(by: 50)
    expect(gate.admitted.count, equals: ended + width)
  }
}

struct RateTests {
  @Test(arguments: ["1/s", "25/s", "10000/s", "90/m", "1/m"])
  func aRateIsReadAsItIsWritten(_ text: String) {
    expect(Rate(written: text)?.written, equals: text)
  }

  @Test(arguments: [
    "", "25", "/s", "0/s", "-1/s", "10001/s", "1/h", "1/s/s", "1 /s", "+5/s", "1/S",
  ])
  func otherTextsAreNoRates(_ text: String) {
    expect(Rate(written: text) == nil)
  }

  @Test func aRateCountsItsCalls() {
    expect(Rate.perSecond(50).calls(in: .seconds(1800)), equals: 90_000)
    expect(Rate.perMinute(90).calls(in: .seconds(2)), equals: 3)
    expect(Rate.perSecond(200).burst, equals: 40)
    expect(Rate.perMinute(1).burst, equals: 1)
  }
}
