/// What `--min-ttl` and `--wait` ask for.
public struct Patience: Equatable, Sendable {
  /// How long what is asked for must still be valid.
  public var minimumLifetime: Seconds?
  /// How long to wait for a sign-in.
  public var wait: Seconds?

  public init() {}

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

  /// Seconds until the client gives up: the daemon's own wait and a margin.
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
