import AuthCore
import Testing

/// A fleet of 1,000 hosts with 100 users each, in virtual time, against what admits a callback: the
/// shared bucket, each server's ``Admission``, and the reuse of tokens. The hosts do what credd does.
struct FleetTests {
  private static let rate = 40
  private static let hosts = 1000
  private static let usersPerHost = 100
  private static let step = Interval(milliseconds: 500)

  private struct Callback: Hashable, Sendable {
    let host: Int
    let user: Int
  }

  private struct Server {
    var isUp = true
    var admission = Admission<Callback>(rate: rate)
    /// Those that wait here, who find their connections broken when the server goes.
    var waiting: Set<Callback> = []
  }

  private struct Fleet {
    var servers = [Server(), Server()]
    var bucket: SharedBucket
    var isDatabaseUp = true
    /// Callbacks by the step in which they are sent.
    var due: [Int64: [Callback]] = [:]
    var served = 0
    var servedByHost = Array(repeating: 0, count: hosts)
    /// Calls of Cognito by second.
    var calls: [Int64: Int] = [:]
    var random = Counting()
    let start = Timestamp(milliseconds: 1_700_000_000_000)

    init() { bucket = SharedBucket(level: Int64(rate) * 1000, updated: start) }

    mutating func schedule(_ callback: Callback, at time: Timestamp) {
      let steps = ((time - start).milliseconds + step.milliseconds - 1) / step.milliseconds
      due[steps, default: []].append(callback)
    }

    /// One step of the clock: callbacks come, the bucket gives, late ones are told when to return.
    mutating func advance(to now: Timestamp) {
      let sent = due.removeValue(forKey: (now - start).milliseconds / step.milliseconds) ?? []
      for callback in sent { send(callback, at: now) }
      for index in servers.indices where servers[index].isUp { admit(index, at: now) }
    }

    private mutating func send(_ callback: Callback, at now: Timestamp) {
      // A balancer sends each connection to a server that answers.
      let up = servers.indices.filter { servers[$0].isUp }
      guard isDatabaseUp, let server = up.randomElement(using: &random) else {
        return schedule(callback, at: now + .seconds(5))
      }
      switch servers[server].admission.enter(callback, host: "\(callback.host)", at: now) {
      case .goesAhead: serve(callback, at: now)
      case .refused(let retryAfter): comeBack(callback, retryAfter, at: now)
      case .waits: servers[server].waiting.insert(callback)
      case .waitsInPlace(let other):
        servers[server].waiting.insert(callback)
        servers[server].waiting.remove(other.waiter)
        comeBack(other.waiter, other.retryAfter, at: now)
      }
    }

    private mutating func comeBack(_ callback: Callback, _ retryAfter: Int, at now: Timestamp) {
      schedule(callback, at: now + .seconds(Int64(retryAfter)))
    }

    private mutating func serve(_ callback: Callback, at now: Timestamp) {
      served += 1
      servedByHost[callback.host] += 1
      calls[(now - start).milliseconds / 1000, default: 0] += 1
    }

    private mutating func admit(_ index: Int, at now: Timestamp) {
      guard servers[index].admission.count > 0 else { return }
      guard isDatabaseUp else {
        for callback in servers[index].admission.removeAll() {
          servers[index].waiting.remove(callback)
          comeBack(callback, 5, at: now)
        }
        return
      }
      let taken = bucket.take(servers[index].admission.slice, rate: rate, at: now)
      for callback in servers[index].admission.add(taken, at: now) {
        servers[index].waiting.remove(callback)
        serve(callback, at: now)
      }
      for late in servers[index].admission.removeLate(at: now) {
        servers[index].waiting.remove(late.waiter)
        comeBack(late.waiter, late.retryAfter, at: now)
      }
    }

    /// A server goes; credd finds its connections broken, and asks again.
    mutating func lose(_ index: Int, at now: Timestamp) {
      let waiting = servers[index].waiting
      servers[index] = Server(isUp: false)
      for callback in waiting { schedule(callback, at: now + .seconds(1)) }
    }
  }

  /// The same numbers in each run.
  private struct Counting: RandomNumberGenerator {
    var state: UInt64 = 42
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state
    }
  }

  @Test func aFleetThatBootsAtOnceIsServedAtTheQuota() {
    var fleet = Fleet()
    let start = fleet.start
    let all = Self.hosts * Self.usersPerHost
    var callbacks = (0..<all).map {
      Callback(host: $0 / Self.usersPerHost, user: $0 % Self.usersPerHost)
    }
    callbacks.shuffle(using: &fleet.random)
    for callback in callbacks { fleet.schedule(callback, at: start + Self.step) }
    var now = start
    while fleet.served < all, now - start < .hours(2) {
      now = now + Self.step
      let time = (now - start).milliseconds
      if time == 300_000 { fleet.lose(1, at: now) }
      if time == 400_000 { fleet.servers[1].isUp = true }
      // The database is away for a minute.
      fleet.isDatabaseUp = !(600_000..<660_000).contains(time)
      fleet.advance(to: now)
      if time == 590_000 {
        // After ten minutes each host has had its turns: nobody is starved.
        let mean = fleet.served / Self.hosts
        #expect(fleet.servedByHost.allSatisfy { (mean / 5...mean * 3).contains($0) })
      }
    }
    // Nothing is lost, and nothing is given twice.
    #expect(fleet.servedByHost.allSatisfy { $0 == Self.usersPerHost })
    // In no ten seconds more than the quota, and a second's worth saved.
    let ends = fleet.calls.keys.map { second in
      (second..<(second + 10)).reduce(0) { $0 + (fleet.calls[$1] ?? 0) }
    }
    #expect(ends.max() ?? 0 <= Self.rate * 11)
    // While there was a database, the quota was used up until the last few came back.
    let ideal = Int64(all / Self.rate)
    #expect((now - start).milliseconds / 1000 <= ideal + 60 + ideal / 4)
  }

  @Test func aFleetAtWorkStaysUnderTheQuotaByReuse() throws {
    // Each user asks for a token every quarter of an hour; a second profile of the same host asks for
    // the same one.
    var cache = TokenCache()
    let start = Timestamp(milliseconds: 1_700_000_000_000)
    var calls = 0
    let users = try (0..<20).map { try Identifier("user\($0)") }
    for minute in 0..<(24 * 60) {
      let now = start + .minutes(Int64(minute))
      for (index, user) in users.enumerated() where (minute + index) % 5 == 0 {
        let key = TokenCache.Key(
          host: "h", user: user, pool: "p", logins: [:], duration: 900_000)
        if cache.token(for: key, at: now) == nil {
          calls += 1
          cache.keep(
            .init(identityID: "i", token: "t", received: now, lifetime: .minutes(15)), for: key,
            at: now)
        }
      }
    }
    // A new one after half of its life, at the next time that somebody asks.
    #expect(calls == 20 * 24 * 6)
  }
}
