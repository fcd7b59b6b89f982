internal import CredCore

/// The values of `--min-ttl` and `--wait`.
public struct Waiting: Equatable, Sendable {
  /// How long the credentials or the token must stay valid.
  public var minimumLifetime: Seconds?
  /// How long the daemon waits for a sign-in.
  public var wait: Seconds?
  /// Whether credctl waits as long for a connection, where its user has too many of them.
  public var waitsForConnection = true

  public init() {}

  /// The values for requests of SDKs, some of which give up after a second. credctl's endpoint answers
  /// one request after the other: one that waited for a connection would hold up all others.
  public static var ofEndpoint: Waiting {
    var waiting = Waiting()
    waiting.waitsForConnection = false
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
    for index in 0..<(whole.count + 3) {
      let byte = index < digits.count ? digits[index] : UInt8(ascii: "0")
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
