/// So many calls in a time, `25/s` or `90/m`: never more than that for long.
public struct Rate: Sendable, Hashable {
  /// What a rate may be counted by.
  public enum Unit: String, Sendable, CaseIterable {
    case second = "s"
    case minute = "m"

    public var duration: Duration { self == .second ? .seconds(1) : .seconds(60) }
  }

  /// The most calls that may be written.
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

  /// Reads what ``written`` gives; nil for anything else.
  public init?(written text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let unit = Unit(rawValue: String(parts[1])),
      !parts[0].isEmpty, parts[0].utf8.allSatisfy(\.isDigit), let count = Int(parts[0]),
      (1...Self.most).contains(count)
    else { return nil }
    self.init(count, per: unit)
  }

  public var written: String { "\(count)/\(unit.rawValue)" }

  /// The time from one call to the next at this rate.
  public var pause: Duration { unit.duration / count }

  /// How many calls it allows in a time.
  public func calls(in time: Duration) -> Double {
    time.inSeconds / unit.duration.inSeconds * Double(count)
  }

  /// Calls that may be made at once after a quiet time: a fifth of a second's, so that not even
  /// the first second exceeds a quota by much.
  var burst: Int { max(1, Int(calls(in: .milliseconds(200)))) }
}
