internal import CredCore

/// What `systemctl status` shows of the daemon in one line.
struct ServiceStatus: Equatable {
  var sessions = 0
  /// Sessions whose last refresh failed.
  var degraded = 0
  /// A time, not a span: nobody wakes up to count it down.
  var nextRefresh: WallTime?
  /// What an operator must know first: a reload that was refused, a state directory that fails.
  var trouble: String?

  var text: String {
    var parts = [sessions == 1 ? "1 session" : "\(sessions) sessions"]
    if let nextRefresh { parts.append("next refresh at \(nextRefresh.iso8601)") }
    if degraded > 0 { parts.append("\(degraded) degraded") }
    if let trouble { parts.append(trouble) }
    return parts.joined(separator: ", ")
  }
}
