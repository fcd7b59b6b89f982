import CredCore

/// The daemon's status in one line, for `systemctl status`.
package struct ServiceStatus: Equatable {
  var sessions = 0
  /// Sessions with a failed last refresh.
  var degraded = 0
  /// The time of the next refresh. It is not a duration, because that would need regular updates.
  var nextRefresh: WallTime?
  /// The most important problem for an operator: a refused reload, a socket that
  /// refuses everybody, or a state directory that fails.
  var trouble: String?

  package var text: String {
    var parts = [sessions == 1 ? "1 session" : "\(sessions) sessions"]
    if let nextRefresh { parts.append("next refresh at \(nextRefresh.iso8601)") }
    if degraded > 0 { parts.append("\(degraded) degraded") }
    if let trouble { parts.append(trouble) }
    return parts.joined(separator: ", ")
  }
}
