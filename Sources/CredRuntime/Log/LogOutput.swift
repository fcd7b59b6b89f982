public import CredCore
internal import Glibc
public import Logging

/// Where log entries go: to the journal with their fields where standard error is the journal's
/// stream, else to standard error as lines.
public enum LogOutput {
  /// - Parameter threshold: entries below it are dropped.
  public static func logger(_ threshold: LogThreshold) -> Logger {
    let toJournal = isJournal(STDERR_FILENO)
    return Logger(label: "credd") { _ in
      if toJournal {
        JournalLogHandler(threshold: threshold)
      } else {
        LineLogHandler(threshold: threshold)
      }
    }
  }

  /// The service manager names the device and inode of the stream it connected (systemd.exec(5)).
  private static func isJournal(_ descriptor: Int32) -> Bool {
    guard let stream = unsafe getenv("JOURNAL_STREAM") else { return false }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return false }
    return unsafe String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
  }
}

extension Logger.Level {
  /// The configuration's word for it.
  public init(_ level: LogLevel) {
    self =
      switch level {
      case .error: .error
      case .warning: .warning
      case .notice: .notice
      case .info: .info
      case .debug: .debug
      }
  }

  /// syslog's number (sd-daemon(3)).
  var priority: Int {
    switch self {
    case .trace, .debug: 7
    case .info: 6
    case .notice: 5
    case .warning: 4
    case .error: 3
    case .critical: 2
    }
  }
}
