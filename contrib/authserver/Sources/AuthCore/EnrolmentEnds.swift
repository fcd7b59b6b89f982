/// Enrolments that end soon, and what the log has said of them: each is named 30 days, 7 days and a day
/// before its end.
public struct EnrolmentEnds: Sendable {
  /// From the longest on.
  private static let warnings: [Int64] = [30, 7, 1]

  /// Before that nothing is said of an end.
  public static let longest = Interval.days(30)

  public struct Notice: Sendable, Equatable {
    public let host: String
    public let end: Timestamp
    /// It ends in less than this.
    public let days: Int64

    public init(host: String, end: Timestamp, days: Int64) {
      self.host = host
      self.end = end
      self.days = days
    }
  }

  private var said: [String: Int64] = [:]

  public init() {}

  /// - Parameter hosts: all whose enrolment ends within ``longest``.
  /// - Returns: what is to be said now.
  public mutating func due(_ hosts: [(name: String, end: Timestamp)], at now: Timestamp) -> [Notice]
  {
    var notices: [Notice] = []
    var kept: [String: Int64] = [:]
    for (host, end) in hosts where now < end {
      guard let days = Self.warnings.last(where: { end - now <= .days($0) }) else { continue }
      kept[host] = days
      if days < said[host] ?? .max { notices.append(Notice(host: host, end: end, days: days)) }
    }
    said = kept
    return notices
  }
}
