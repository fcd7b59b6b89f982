import CredCore

/// Enrolments that end soon, and what the log has said of them. The log names an enrolment as
/// often, and as long before its end, as credd warns of it on the host.
public struct EnrolmentEnds: Sendable {
  /// Before that nothing is said of an end.
  public static let longest = Interval.days(HostEnrolment.warnings.map(Int64.init).max() ?? 0)

  public struct Notice: Sendable, Equatable {
    public let host: String
    public let end: Timestamp
    /// It ends in less than this.
    public let days: Int

    public init(host: String, end: Timestamp, days: Int) {
      self.host = host
      self.end = end
      self.days = days
    }
  }

  /// The days of the last warning.
  private var said: [String: Int] = [:]

  public init() {}

  /// - Parameter hosts: all hosts with an enrolment that ends within ``longest``.
  /// - Returns: what is to be said now.
  public mutating func due(_ hosts: [(name: String, end: Timestamp)], at now: Timestamp) -> [Notice]
  {
    var notices: [Notice] = []
    var kept: [String: Int] = [:]
    for (host, end) in hosts where now < end {
      guard let days = HostEnrolment.warning(end.wallTime - now.wallTime) else { continue }
      kept[host] = days
      if days < said[host] ?? .max { notices.append(Notice(host: host, end: end, days: days)) }
    }
    said = kept
    return notices
  }
}
