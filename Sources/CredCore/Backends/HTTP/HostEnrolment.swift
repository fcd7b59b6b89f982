/// The end of this host's enrolment at a backend. Afterwards the backend refuses the host, unless somebody
/// renews the enrolment there.
public struct HostEnrolment: Sendable {
  /// The header in which a backend says it, as `2026-12-01T08:00:00Z`.
  public static let header = "Credd-Host-Expires"
  /// So many days before the end there is a warning, from the longest on.
  public static let warnings = [30, 7, 1]
  /// Between two warnings of the same days, because a backend may say another end in each reply.
  private static let pause = Duration.seconds(86_400)

  private struct Warning {
    let days: Int
    let time: Instant
  }

  /// Nil if the backend says none.
  public private(set) var end: WallTime?
  /// The days of the warning that was due at the last reply.
  private var due: Int?
  private var last: Warning?

  public init() {}

  /// - Parameter left: the time to the end.
  /// - Returns: the days of the warning that is due; nil if none is.
  public static func warning(_ left: Duration) -> Int? {
    warnings.last { left <= .seconds($0 * 86_400) }
  }

  /// Takes the end that a reply has said.
  ///
  /// - Parameter now: by the backend's clock, if it tells the time.
  /// - Returns: the days of a warning that was not given yet; nil if there is none.
  public mutating func told(_ end: WallTime?, at now: WallTime, _ instant: Instant) -> Int? {
    let before = due
    self.end = end
    due = end.flatMap { Self.warning($0 - now) }
    guard let due, due < before ?? .max else { return nil }
    if let last, due >= last.days, instant - last.time < Self.pause { return nil }
    last = Warning(days: due, time: instant)
    return due
  }
}

extension HTTPReply {
  /// The end of this host's enrolment, if the backend says one.
  public var hostEnrolmentEnd: WallTime? {
    header(HostEnrolment.header).flatMap { WallTime(iso8601: $0) }
  }
}
