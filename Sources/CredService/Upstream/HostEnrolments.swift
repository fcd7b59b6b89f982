import CredCore
import Logging

/// This host's enrolments at backends, as their replies have said. Nothing stops at once: the journal
/// warns before the end, and `check` shows it.
final class HostEnrolments {
  private let clock: any Clock
  private let log: Logger
  private var enrolments: [String: HostEnrolment] = [:]

  init(_ clock: any Clock, _ log: Logger) {
    self.clock = clock
    self.log = log
  }

  /// After a reload, what is still so is said again.
  func forget() { enrolments = [:] }

  func end(at backend: String) -> WallTime? { enrolments[backend]?.end }

  /// Takes what a reply says. A success without an end is from a backend that has none; an error may come
  /// from a proxy.
  func note(_ reply: HTTPReply, from backend: String) {
    guard let end = reply.hostEnrolmentEnd else {
      if reply.isSuccess { enrolments[backend] = nil }
      return
    }
    var enrolment = enrolments[backend] ?? HostEnrolment(end: end)
    let days = enrolment.told(end, at: reply.date ?? clock.wallTime)
    enrolments[backend] = enrolment
    guard let days else { return }
    log.log(
      .enrolmentEnds, .warning,
      """
      this host's enrolment at backend '\(backend)' ends in less than \(days == 1 ? "a day" : "\(days) days"), \
      at \(end.iso8601): who runs the backend renews it
      """,
      ["upstream": "backend '\(backend)'", "expiration": "\(end.iso8601)"])
  }
}
