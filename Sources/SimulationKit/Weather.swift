import CredCore

/// How an endpoint fares for a while.
enum Weather {
  case fair
  /// Every call ends like this.
  case failing(UpstreamFailure)
  /// Some do.
  case moody([UpstreamFailure], probability: Double)
  /// Answers take their time, and some too long.
  case slow(Double)
  /// What it gives lasts only so many seconds.
  case shortLived(Double)

  var words: String {
    switch self {
    case .fair: "fair"
    case .failing(let failure): "failing: \(failure.message)"
    case .moody(let failures, let probability):
      "failing \(Int(probability * 100)) % of calls in \(failures.count) ways"
    case .slow(let seconds): "slow, about \(seconds) s"
    case .shortLived(let seconds): "giving what lasts \(seconds) s"
    }
  }
}

/// One endpoint of the simulated world, with credd's gate before it.
struct Endpoint {
  let upstream: Upstream
  let policy: Admission.Policy
  let catalogue: [UpstreamFailure]
  var admission: Admission
  var weather = Weather.fair
  var scheduledWake = Instant.distantFuture
  /// The times of the last calls, in a ring: no second holds more than rate and burst.
  var recent: [Instant]
  var nextRecent = 0
  var underWay = 0

  init(_ upstream: Upstream, _ policy: Admission.Policy) {
    self.upstream = upstream
    self.policy = policy
    catalogue = UpstreamFailure.catalogue(of: upstream)
    admission = Admission(upstream, policy)
    let perSecond = policy.rate.calls(in: .seconds(1))
    let burst = max(1, Int(perSecond / 5))
    recent = Array(
      repeating: Instant(nanoseconds: 0), count: Int(perSecond.rounded(.up)) + burst)
  }

  mutating func restart() {
    admission = Admission(upstream, policy)
    scheduledWake = .distantFuture
    underWay = 0
    // A restart forgets what the bucket had given out.
    for index in recent.indices { recent[index] = Instant(nanoseconds: 0) }
  }

  /// What must not be exceeded by a call at this instant.
  mutating func note(_ now: Instant) -> Bool {
    let oldest = recent[nextRecent]
    recent[nextRecent] = now
    nextRecent = (nextRecent + 1) % recent.count
    underWay += 1
    return now - oldest >= .seconds(1) && underWay <= policy.width
  }

  mutating func change(_ dice: inout Dice) {
    guard case .fair = weather else { return weather = .fair }
    switch dice.index(10) {
    case 0..<3: weather = .failing(failure(&dice))
    case 3..<5:
      weather = .moody((0..<4).map { _ in failure(&dice) }, probability: dice.fraction())
    case 5: weather = .moody(catalogue, probability: dice.fraction() * 0.5)
    case 6, 7: weather = .slow(dice.pick([1, 5, 20]))
    case 8: weather = .shortLived(dice.pick([-5, 0, 1, 30, 90]))
    default: weather = .failing(.transport(.timeout, from: upstream))
    }
  }

  private func failure(_ dice: inout Dice) -> UpstreamFailure {
    let failure = dice.pick(catalogue)
    guard dice.happens(0.4) else { return failure }
    return failure.asking(for: .seconds(dice.pick([0, 1, 7, 30, 120])))
  }
}
