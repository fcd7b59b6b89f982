/// A number of calls a second or a minute: `25/s`, `90/m`.
public struct Rate: Sendable, Hashable {
  /// The units of rates.
  public enum Unit: String, Sendable, CaseIterable {
    case second = "s"
    case minute = "m"

    public var duration: Duration { self == .second ? .seconds(1) : .seconds(60) }
  }

  /// The highest number of calls in a configuration.
  static let most = 10_000

  /// Calls in one unit, from 1 to 10,000.
  public let count: Int
  public let unit: Unit

  public static func perSecond(_ count: Int) -> Rate { Rate(count, per: .second) }
  public static func perMinute(_ count: Int) -> Rate { Rate(count, per: .minute) }

  private init(_ count: Int, per unit: Unit) {
    self.count = min(max(count, 1), Self.most)
    self.unit = unit
  }

  /// Reads ``written``; nil for other text.
  public init?(written text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let unit = Unit(rawValue: String(parts[1])),
      !parts[0].isEmpty, parts[0].utf8.allSatisfy(\.isDigit), let count = Int(parts[0]),
      (1...Self.most).contains(count)
    else { return nil }
    self.init(count, per: unit)
  }

  public var written: String { "\(count)/\(unit.rawValue)" }

  /// The time between two calls.
  public var pause: Duration { unit.duration / count }

  /// The number of calls in a time.
  public func calls(in time: Duration) -> Double {
    time.inSeconds / unit.duration.inSeconds * Double(count)
  }

  /// The most calls at once after a quiet time: as many as in a fifth of a second. So even the
  /// first second exceeds a quota only a little.
  var burst: Int { max(1, Int(calls(in: .milliseconds(200)))) }
}
