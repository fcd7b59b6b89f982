import CredCore
import Logging

/// This host's enrolments at backends, as their replies say. The journal warns before the end of one, and
/// `check` shows it.
final class HostEnrolments {
  private let clock: any Clock
  private let log: Logger
  private var enrolments: [String: HostEnrolment] = [:]

  init(_ clock: any Clock, _ log: Logger) {
    self.clock = clock
    self.log = log
  }

  /// After a reload, the warnings come again.
  func forget() { enrolments = [:] }

  func end(at backend: String) -> WallTime? { enrolments[backend]?.end }

  /// Takes what a reply says. An error says nothing, because a proxy may have made it.
  func note(_ reply: HTTPReply, from backend: String) {
    let end = reply.hostEnrolmentEnd
    guard end != nil || reply.isSuccess else { return }
    let days = enrolments[backend, default: HostEnrolment()]
      .told(end, at: reply.date ?? clock.wallTime, clock.now)
    guard let end, let days else { return }
    log.log(
      .enrolmentEnds, .warning,
      """
      this host's enrolment at backend '\(backend)' ends in less than \(days == 1 ? "a day" : "\(days) days"), \
      at \(end.iso8601): ask those who run the backend to renew it
      """,
      ["upstream": "backend '\(backend)'", "expiration": "\(end.iso8601)"])
  }
}
