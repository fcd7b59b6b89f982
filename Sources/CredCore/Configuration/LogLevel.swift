/// How much the daemon logs: what is at the level and above it.
public enum LogLevel: String, Sendable, CaseIterable {
  case error, warning, notice, info, debug
}
