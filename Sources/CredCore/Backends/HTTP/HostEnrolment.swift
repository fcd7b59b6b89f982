/// When a backend stops answering this host, if nobody renews the enrolment there.
public struct HostEnrolment: Sendable, Equatable {
  /// The header in which a backend says it, as `2026-12-01T08:00:00Z`.
  public static let header = "Credd-Host-Expires"
  /// So many days before the end credd warns, once each.
  static let warnings = [30, 7, 1]

  public private(set) var end: WallTime
  /// The last warning, in days.
  private var warned: Int?

  public init(end: WallTime) {
    self.end = end
  }

  /// Takes the end that a reply has said.
  ///
  /// - Returns: the days of the warning that is due; nil where none is.
  public mutating func told(_ end: WallTime, at now: WallTime) -> Int? {
    self.end = end
    let due = Self.warnings.last { end - now <= .seconds($0 * 86_400) }
    defer { warned = due }
    guard let due else { return nil }
    return due < warned ?? .max ? due : nil
  }
}

extension HTTPReply {
  /// The end of this host's enrolment, where the backend says one.
  public var hostEnrolmentEnd: WallTime? {
    header(HostEnrolment.header).flatMap { WallTime(iso8601: $0) }
  }
}
