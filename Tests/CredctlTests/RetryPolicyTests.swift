import CredCore
import TestSupport
import Testing

@testable import CredctlKit

/// Whether a request is made again after a failure, and when.
struct RetryPolicyTests {
  /// Gives the same number each time. With zero the pauses are the shortest.
  private struct Constant: RandomNumberGenerator {
    let value: UInt64
    func next() -> UInt64 { value }
  }

  /// Gives the longest pauses: the last number below each of these counts.
  private struct Highest: RandomNumberGenerator {
    var counts: [UInt64] = [40, 80, 160, 320, 400, 400, 400]
    mutating func next() -> UInt64 { counts.isEmpty ? 0 : counts.removeFirst() - 1 }
  }

  private let full = Failure(
    Refusal(
      code: "TooManyRequests",
      message: "this user has too many connections: more than 64 (max_connections_per_user)"),
    profile: "work")

  private func policy(wait: Int? = nil) -> RetryPolicy {
    var waiting = Waiting()
    waiting.wait = wait.map { Seconds(milliseconds: $0) }
    return RetryPolicy(waiting, seconds: waiting.timeout)
  }

  private func waiting(_ milliseconds: Int) -> Waiting {
    var waiting = Waiting()
    waiting.wait = Seconds(milliseconds: milliseconds)
    return waiting
  }

  /// It answers one request after the other, so others would wait, too. The SDK asks again.
  @Test func anEndpointOfOnesOwnWaitsForNoPlace() {
    var least = Constant(value: 0)
    var policy = RetryPolicy(.ofEndpoint, seconds: 2)
    expect(Waiting.ofEndpoint.wait, equals: Seconds(milliseconds: 900))
    expect(policy.step(after: full, milliseconds: 0, &least), equals: .giveUp(full))
  }

  @Test func aPlaceIsAskedForAgainWithWhatIsLeftOfTheWait() {
    var least = Constant(value: 0)
    var policy = policy()
    expect(
      policy.step(after: full, milliseconds: 2, &least),
      equals: .again(milliseconds: 10, waiting(4988)))
    expect(
      policy.step(after: full, milliseconds: 4000, &least),
      equals: .again(milliseconds: 20, waiting(980)))
    expect(policy.step(after: full, milliseconds: 4970, &least), equals: .giveUp(full))
    expect(full.message.contains("(max_connections_per_user)"), "\(full.message)")
    expect(full.status, equals: .tryAgain)
  }

  @Test func withoutAWaitNothingIsAskedAgain() {
    var least = Constant(value: 0)
    var policy = policy(wait: 0)
    expect(policy.step(after: full, milliseconds: 0, &least), equals: .giveUp(full))
  }

  /// The pauses of hundreds of processes that were refused together differ, and become longer.
  @Test func pausesGrowAndAreSpread() {
    var least = Constant(value: 0)
    var (short, long) = (policy(wait: 300_000), policy(wait: 300_000))
    var highest = Highest()
    func pauses(_ policy: inout RetryPolicy, _ random: inout some RandomNumberGenerator) -> [Int] {
      (0..<7).map { number in
        guard
          case .again(let pause, _) = policy.step(
            after: full, milliseconds: number * 1000, &random)
        else { return -1 }
        return pause
      }
    }
    expect(pauses(&short, &least), equals: [10, 20, 40, 80, 100, 100, 100])
    expect(pauses(&long, &highest), equals: [49, 99, 199, 399, 499, 499, 499])
  }

  @Test func aTimeThatTheDaemonNamesIsWaitedForIfItFits() {
    var least = Constant(value: 0)
    let named = Failure(
      Refusal(code: "TooManyRequests", message: "a moment ago", retryAfter: 2), profile: nil)
    var policy = policy()
    expect(
      policy.step(after: named, milliseconds: 100, &least),
      equals: .again(milliseconds: 2000, waiting(2900)))
    expect(policy.step(after: named, milliseconds: 3100, &least), equals: .giveUp(named))
    let never = Failure(
      Refusal(code: "TooManyRequests", message: "later", retryAfter: .max), profile: nil)
    var long = self.policy(wait: 300_000)
    expect(long.step(after: never, milliseconds: 0, &least), equals: .giveUp(never))
  }

  @Test func otherRefusalsAreFinal() {
    var least = Constant(value: 0)
    for code in ["SignInRequired", "AccessDenied", "Throttled", "Timeout", "Internal"] {
      let failure = Failure(
        Refusal(code: code, message: "no", retryAfter: 0), profile: nil)
      var policy = policy()
      expect(
        policy.step(after: failure, milliseconds: 0, &least), equals: .giveUp(failure), "\(code)")
    }
  }

  @Test func aFewDaemonsAreAskedAndTheirEndIsNoAbsence() {
    var least = Constant(value: 0)
    let socket = SocketPath.system
    let (ended, absent) = (
      Failure(.closedEarly, at: socket), Failure(.noListener, at: socket)
    )
    var policy = policy()
    expect(policy.step(after: absent, milliseconds: 0, &least), equals: .giveUp(absent))
    for _ in 1..<WaitLimits.daemonsAsked {
      expect(
        policy.step(after: ended, milliseconds: 9000, &least),
        equals: .again(milliseconds: 0, Waiting()))
    }
    expect(policy.step(after: ended, milliseconds: 9000, &least), equals: .giveUp(ended))
    expect(policy.step(after: absent, milliseconds: 9000, &least), equals: .giveUp(ended))
    var late = self.policy()
    expect(late.step(after: ended, milliseconds: 15_000, &least), equals: .giveUp(ended))
  }

  @Test func theRequestHasWhatIsLeftOfItsWait() throws {
    var least = Constant(value: 0)
    var options = GetOptions(profile: "work")
    options.waiting.minimumLifetime = Seconds(milliseconds: 900_000)
    var policy = RetryPolicy(options.waiting, seconds: 15)
    guard
      case .again(_, let waiting) = policy.step(after: full, milliseconds: 240, &least)
    else { throw Unexpected() }
    expect(
      String(decoding: options.request(waiting: waiting), as: UTF8.self),
      equals: #"{"op":"get","profile":"work","min_ttl":900,"wait":4.75}"# + "\n")
  }

  private struct Unexpected: Error {}
}
