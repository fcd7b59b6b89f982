/// The limits for which metrics count refusals, as the label `limit` names them.
package enum HitLimit: String, CaseIterable, Sendable {
  /// Connections to the socket, of one user or of all.
  case connections
  case unfinishedLines = "unfinished_lines"
  case unreadReplies = "unread_replies"
  case endpointConnections = "endpoint_connections"
  /// Heads of HTTP requests that did not arrive in time.
  case endpointTime = "endpoint_time"
  case upstreamCalls = "upstream_calls"
  case sessions
  case logins
  case waitingSessions = "waiting_sessions"
  /// Passwords, codes and challenges.
  case signIns = "sign_ins"
  case accounts
  case checks
}
