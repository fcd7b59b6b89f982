import CredCore

/// The condition of an endpoint for some time. Add other troubles of upstreams here.
enum Condition {
  case fair
  /// Every call ends with this result.
  case failing(UpstreamResult)
  /// Some calls end with this result.
  case unsteady([UpstreamResult], probability: Double)
  /// Answers are slow; some are too late.
  case slow(Double)
  /// Its tokens and credentials last only this many seconds.
  case shortLived(Double)

  var words: String {
    switch self {
    case .fair: "fair"
    case .failing(let trouble): "failing: \(trouble.words)"
    case .unsteady(let troubles, let probability):
      "failing \(Int(probability * 100)) % of calls in \(troubles.count) ways"
    case .slow(let seconds): "slow, about \(seconds) s"
    case .shortLived(let seconds): "giving what lasts \(seconds) s"
    }
  }
}

/// The result of a call.
enum UpstreamResult {
  case reply(HTTPReply)
  case transport(TransportFailure)
  case command(ExecOutcome.Ending)

  var isSuccess: Bool { if case .reply(let reply) = self { reply.status == 200 } else { false } }

  var words: String {
    switch self {
    case .reply(let reply):
      "status \(reply.status) \(reply.body.exposedText() ?? "")"
        + (reply.header("Retry-After").map { ", Retry-After \($0)" } ?? "")
    case .transport(let failure): "\(failure)"
    case .command(let ending): "\(ending)"
    }
  }

  /// Every way to fail.
  static func failures(of upstream: Upstream, isCommand: Bool) -> [UpstreamResult] {
    guard !isCommand else {
      let endings: [ExecOutcome.Ending] =
        [1, 64, 67, 69, 75, 77, 78].map { .exited($0) }
        + [.killed(9), .timedOut, .outputTooLarge, .exited(0)]
        + [false, true].map { .notStarted(StartFailure(reason: "simulated", isTransient: $0)) }
      return endings.map { .command($0) }
    }
    return TransportFailure.allCases.map { .transport($0) }
      + HTTPReply.failures(of: upstream).map { .reply($0) }
  }
}

/// One endpoint of the simulated world: a backend, or one operation of AWS.
struct Endpoint {
  let name: String
  let isCommand: Bool
  let perSecond: Int
  let width: Int
  let troubles: [UpstreamResult]
  var condition = Condition.fair
  /// The times of the last calls, in a ring: no second holds more than rate and burst.
  private var recent: [Instant]
  private var nextRecent = 0
  var underWay = 0

  init(_ name: String, _ upstream: Upstream, isCommand: Bool = false, rate: Int, width: Int) {
    self.name = name
    self.isCommand = isCommand
    perSecond = rate
    self.width = width
    troubles = UpstreamResult.failures(of: upstream, isCommand: isCommand)
    recent = Array(
      repeating: Instant(nanoseconds: 0), count: rate + max(1, rate / 5))
  }

  /// A new process does not know the calls of the former one.
  mutating func restart() {
    underWay = 0
    for index in recent.indices { recent[index] = Instant(nanoseconds: 0) }
  }

  /// Counts a call. False if the call exceeds the limit.
  mutating func take(_ now: Instant) -> Bool {
    let oldest = recent[nextRecent]
    recent[nextRecent] = now
    nextRecent = (nextRecent + 1) % recent.count
    underWay += 1
    return now - oldest >= .seconds(1) && underWay <= width
  }

  mutating func change(_ random: inout SeededGenerator) {
    guard case .fair = condition else { return condition = .fair }
    switch random.index(10) {
    case 0..<3: condition = .failing(trouble(&random))
    case 3..<5:
      condition = .unsteady(
        (0..<4).map { _ in trouble(&random) }, probability: random.fraction())
    case 5: condition = .unsteady(troubles, probability: random.fraction() * 0.5)
    case 6, 7: condition = .slow(random.pick([1, 5, 20]))
    case 8: condition = .shortLived(random.pick([-5, 0, 1, 30, 90]))
    default: condition = .failing(isCommand ? .command(.timedOut) : .transport(.timeout))
    }
  }

  private func trouble(_ random: inout SeededGenerator) -> UpstreamResult {
    let trouble = random.pick(troubles)
    guard case .reply(var reply) = trouble, random.happens(0.4) else { return trouble }
    let pause = random.pick([0, 1, 7, 30, 120])
    reply.headers.append(HTTPReply.Header(name: "Retry-After", value: String(pause)))
    return .reply(reply)
  }
}
