public import AuthCore
import AuthStore
import Logging

/// What the server does while nobody asks.
extension Server {
  func keepHouse() async {
    var minute = 0
    var ends = EnrolmentEnds()
    while !Task.isCancelled {
      if minute % 60 == 0 {
        await hourly()
        await warnOfEnds(&ends)
      }
      await eachMinute()
      minute += 1
      try? await Task.sleep(for: .seconds(60))
    }
  }

  /// The ends of the audit's chains go to the log, and what has ended goes.
  private func hourly() async {
    await logHeads()
    do {
      try await store.sweep(now: options.now())
    } catch {
      options.log.warning(
        "what has ended could not be removed", metadata: ["reason": "\(error)"])
    }
    await store.keepReserve()
  }

  /// Says in the log which enrolments end soon.
  ///
  /// - Parameter ends: what was said.
  public func warnOfEnds(_ ends: inout EnrolmentEnds) async {
    let now = options.now()
    do {
      let soon = try await store.ends(after: now, before: now + EnrolmentEnds.longest)
      let due = ends.due(soon, at: now)
      for notice in due.prefix(Limits.endsInLog) {
        options.log.warning(
          "a host's enrolment ends soon: 'host set NAME --expires' renews it",
          metadata: [
            "host": "\(notice.host)", "expires": "\(notice.end.iso8601)",
            "days": "\(notice.days)",
          ])
      }
      guard due.count > Limits.endsInLog else { return }
      options.log.warning(
        "more enrolments end soon: 'host list' shows them",
        metadata: ["count": "\(due.count - Limits.endsInLog)"])
    } catch { faults.note(error) }
  }

  /// A full disk is in the log before a host is refused for it, and an enrolment that was renewed
  /// ends its alert.
  func eachMinute() async {
    await audit.writeNumbers()
    do {
      try await measureEnd()
      try await store.checkWritable(now: options.now())
      faults.end()
    } catch { faults.note(error) }
  }

  /// Says in the metrics when the next enrolment ends.
  private func measureEnd() async throws {
    let now = options.now()
    let never = Timestamp(milliseconds: .max)
    if let next = try await store.ends(after: now, before: never, limit: 1).first {
      metrics.set(.hostExpires, to: (next.end - now).seconds)
    } else {
      metrics.remove(.hostExpires)
    }
  }

  /// Of all chains: the administrator's commands have no log of their own.
  func logHeads() async {
    for head in (try? await store.auditHeads()) ?? [] where head.sequence > 0 {
      options.log.notice("audit head", metadata: ["head": "\(head.text)"])
    }
  }
}
