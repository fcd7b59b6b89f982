/// Times as people say them, in the largest unit that keeps two digits of meaning.
public enum RelativeTime {
  /// `in 42 min`, `now`, `5 min ago`.
  ///
  /// - Parameter seconds: how far ahead; negative is past.
  public static func phrase(_ seconds: Int64) -> String {
    let length = span(seconds.magnitude)
    return seconds == 0 ? "now" : seconds > 0 ? "in \(length)" : "\(length) ago"
  }

  /// `42 min`, rounded down, so that nothing seems to last longer than it does.
  public static func span(_ seconds: UInt64) -> String {
    switch seconds {
    case ..<120: "\(seconds) s"
    case ..<7_200: "\(seconds / 60) min"
    case ..<172_800: "\(seconds / 3_600) h"
    default: "\(seconds / 86_400) days"
    }
  }
}
