/// How much the daemon logs: this level and those before it.
public enum LogLevel: String, Sendable, CaseIterable {
  case error, warning, notice, info, debug
}
