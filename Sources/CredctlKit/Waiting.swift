internal import CredCore

/// The values of `--min-ttl` and `--wait`.
public struct Waiting: Equatable, Sendable {
  /// How long the credentials or the token must stay valid.
  public var minimumLifetime: Seconds?
  /// How long the daemon waits for a sign-in.
  public var wait: Seconds?
  /// Whether credctl waits as long for a place at credd, where its user has too many connections.
  public var waitsForPlace = true

  public init() {}

  /// The values for requests of SDKs, some of which give up after a second. credctl's endpoint answers
  /// one request after the other: one that waited for a place would hold up all others.
  public static var ofEndpoint: Waiting {
    var waiting = Waiting()
    waiting.waitsForPlace = false
    waiting.wait = Seconds(milliseconds: 900)
    return waiting
  }

  /// Reads the options' values.
  ///
  /// - Throws: a ``Failure`` with ``Sysexit/usage``.
  public init(minimumLifetime: String?, wait: String?) throws(Failure) {
    if let minimumLifetime { try setMinimumLifetime(minimumLifetime) }
    if let wait { try setWait(wait) }
  }

  mutating func setMinimumLifetime(_ text: String) throws(Failure) {
    minimumLifetime = try Self.seconds(text, of: "--min-ttl", most: WaitLimits.longestLifetime)
  }

  mutating func setWait(_ text: String) throws(Failure) {
    wait = try Self.seconds(text, of: "--wait", most: WaitLimits.longestWait)
  }

  /// Seconds until credctl gives up: the daemon's wait and a margin.
  public var timeout: Int { (wait?.roundedUp ?? WaitLimits.defaultWait) + WaitLimits.margin }

  public func add(to request: inout RequestLine) {
    if let minimumLifetime { request.add("min_ttl", minimumLifetime) }
    if let wait { request.add("wait", wait) }
  }

  private static func seconds(
    _ text: String, of option: String, most: Int
  ) throws(Failure) -> Seconds {
    guard let seconds = Seconds(text), seconds.milliseconds <= most * 1000 else {
      throw Failure(
        .usage,
        "option '\(option)' takes seconds from 0 to \(most), such as 5 or 0.2, not '\(text)'")
    }
    return seconds
  }
}

/// A length of time in seconds, exact to the millisecond as in the protocol.
public struct Seconds: Equatable, Sendable {
  public let milliseconds: Int

  public init(milliseconds: Int) {
    self.milliseconds = milliseconds
  }

  /// Reads up to six digits, and up to three more after a point. That needs neither Foundation nor
  /// rounding.
  public init?(_ text: String) {
    let parts = text.utf8.split(
      separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first, (1...6).contains(whole.count) else { return nil }
    var digits = Array(whole)
    if parts.count == 2 {
      guard (1...3).contains(parts[1].count) else { return nil }
      digits += parts[1]
    }
    var milliseconds = 0
    for place in 0..<(whole.count + 3) {
      let byte = place < digits.count ? digits[place] : UInt8(ascii: "0")
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      milliseconds = milliseconds * 10 + Int(byte - UInt8(ascii: "0"))
    }
    self.milliseconds = milliseconds
  }

  /// The time in whole seconds, rounded up.
  public var roundedUp: Int { (milliseconds + 999) / 1000 }

  /// The time as a number in JSON: `5`, `0.25`.
  var json: [UInt8] {
    var digits = Array("\(milliseconds / 1000)".utf8)
    let fraction = milliseconds % 1000
    guard fraction > 0 else { return digits }
    digits.append(UInt8(ascii: "."))
    // The leading 1 keeps the zeros after the point.
    digits += "\(1000 + fraction)".utf8.dropFirst()
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    return digits
  }
}

/// The limits of a reply.
public enum ReplyLimits {
  /// Bytes of one reply. Credentials take two KiB; `status` of three thousand sessions fits.
  public static let line = 1 << 20
  /// Bytes of the first buffer, so that one `read` takes a reply with credentials.
  public static let firstBuffer = 4 << 10
}

/// How many seconds credctl waits, so that no command hangs for ever.
public enum WaitLimits {
  /// The wait for a verb that the daemon answers from memory. It is added to every longer wait.
  public static let margin = 10
  /// How long the daemon waits for a sign-in if the request does not say it. It is not computed
  /// from `Limits.Line.defaultWait`, because that would load 128-bit arithmetic at every `get`.
  public static let defaultWait = 5
  /// The longest `wait` that the daemon accepts.
  public static let longestWait = Int(Limits.Line.longestWaitSeconds)
  /// The longest `min_ttl` that the daemon accepts.
  public static let longestLifetime = Int(Limits.Line.longestLifetimeSeconds)
  /// The least lifetime for `exec` and `env` without `--min-ttl`. Credentials in an environment are
  /// never renewed, and SDKs treat credentials with less than 15 min left as expired.
  public static let usefulLifetime = Seconds(milliseconds: 15 * 60 * 1000)
  /// The wait of `ping` without `--timeout`. A daemon that works answers much faster.
  public static let ping = 5

  /// Reads the value of `ping`'s `--timeout`.
  public static func pingTimeout(_ text: String) throws(Failure) -> Int {
    guard let seconds = Int(text), (1...longestWait).contains(seconds) else {
      throw Failure(
        .usage, "option '--timeout' takes whole seconds from 1 to \(longestWait), not '\(text)'")
    }
    return seconds
  }

  /// How many daemons one `get` asks if each ends before it answers. So a `get` survives a restart,
  /// and reports a daemon that ends again and again.
  public static let daemonsAsked = 3
  /// How long `endpoint` waits for the first credentials of a session, of which it wants the region.
  public static let firstIdentity = Seconds(milliseconds: 2000)
  /// The wait of `login` and `logout`, which call the organisation's servers.
  public static let upstream = 60
}

/// The limits of input that a person or a script gives to credctl.
public enum InputLimits {
  /// Bytes of a token or password; a character takes at most four bytes of UTF-8.
  public static let secret = 4 * Limits.Upstream.tokenLength
}
