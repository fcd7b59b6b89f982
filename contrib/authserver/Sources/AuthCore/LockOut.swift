import FoundationEssentials

/// Growing pauses after wrong guesses.
///
/// A sign-in is counted under three keys: the user on this source, the user on all sources, and the
/// source. The last two stop a guess from many sources or at many users. They do not count for a
/// source on which the user has signed in before. So nobody can be locked out of a host where they
/// have signed in, neither from another host nor by another user's name. Nobody can be locked out
/// anywhere for longer than the longest pause.
public struct Guesses: Sendable, Equatable {
  public var failures: Int64
  public var last: Timestamp

  public init(failures: Int64, last: Timestamp) {
    self.failures = failures
    self.last = last
  }

  /// How long the next try must still wait; nil if it may go ahead.
  ///
  /// - Parameter free: guesses without a pause.
  public func pause(free: Int64, at now: Timestamp) -> Interval? {
    // If a clock was ahead when it counted, it makes no pause longer.
    let end = min(last, now) + Self.pause(after: current(at: now), free: free)
    return end > now ? end - now : nil
  }

  /// Counts a try before its password is looked at, so that many at once are counted too.
  public mutating func count(at now: Timestamp) {
    failures = current(at: now) + 1
    last = now
  }

  /// Failures that still count. None counts if the last one is far ahead: its clock was wrong, and
  /// it would count for as long.
  public func current(at now: Timestamp) -> Int64 {
    now - last > Limits.guessMemory || last - now > Limits.longestPause ? 0 : failures
  }

  static func pause(after failures: Int64, free: Int64) -> Interval {
    guard failures >= free else { return .seconds(0) }
    let doublings = min(failures - free, 6)
    return min(.seconds(1 << doublings), Limits.longestPause)
  }

  /// What is kept under one key.
  public struct Record: Sendable, Equatable {
    public var guesses: Guesses
    /// When this user last signed in on this source.
    public var succeeded: Timestamp?

    public init(guesses: Guesses, succeeded: Timestamp?) {
      self.guesses = guesses
      self.succeeded = succeeded
    }
  }

  /// What becomes of one try.
  public enum Decision: Sendable, Equatable {
    /// It waits, and nothing is counted.
    case pause(Interval)
    /// It goes ahead; these are kept, by their keys.
    case count([String: Guesses])
  }
}

extension Guesses {
  /// The keys of one sign-in.
  public struct Keys: Sendable, Equatable {
    public let pair: String
    public let source: String?
    public let user: String?

    public init(user: String, source: String) {
      // Whatever was typed: a key is short.
      let user = Hex.encode(Digest.sha256(Identifier.fold(user)))
      pair = "pair \(source) \(user)"
      self.source = "source \(source)"
      self.user = "user \(user)"
    }

    /// Wrong signatures of one device of the sample protocol.
    public init(device: String, source: String) {
      pair = "device \(source) \(device)"
      self.source = nil
      user = nil
    }

    /// The records that a try needs, in one order everywhere, so that two servers do not wait for
    /// each other.
    public var names: [String] { limits.map(\.name) }

    /// Each key with its guesses without a pause.
    private var limits: [(name: String, free: Int64)] {
      [(pair, Limits.freeGuesses.pair)]
        + (source.map { [($0, Limits.freeGuesses.source)] } ?? [])
        + (user.map { [($0, Limits.freeGuesses.user)] } ?? [])
    }

    /// - Parameter records: of all ``names``.
    public func decide(_ records: [String: Record], at now: Timestamp) -> Decision {
      guard let mine = records[pair] else { return .count([:]) }
      // After its free guesses a source says nothing new about a user. If its further guesses
      // counted, they would keep the user out on all other sources. If many sources guess, each
      // guess counts.
      let isFresh = mine.guesses.current(at: now) < Limits.freeGuesses.pair
      let isKnown = mine.succeeded.map { now - $0 < Limits.sourceMemory } ?? false
      var counted: [String: Guesses] = [:]
      var longest: Interval?
      for (name, free) in limits {
        guard var guesses = records[name]?.guesses else { continue }
        if name == pair || !isKnown, let pause = guesses.pause(free: free, at: now) {
          longest = max(longest ?? pause, pause)
        }
        guard name == pair || isFresh || guesses.current(at: now) >= Limits.manyGuesses else {
          continue
        }
        guesses.count(at: now)
        counted[name] = guesses
      }
      return longest.map { .pause($0) } ?? .count(counted)
    }

    /// Registrations from one address. Each registration costs a hash.
    public init(registrationFrom address: String) {
      pair = "register \(address)"
      source = nil
      user = nil
    }
  }
}
