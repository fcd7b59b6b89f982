internal import CLinux
public import CredCore
internal import CredService
internal import Glibc
public import Logging
internal import Synchronization

/// The destination of log entries. If standard error is the journal's stream, they go to the
/// journal with their fields; else to standard error as lines.
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
  /// The level's name in the configuration.
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

/// A handler with the daemon's threshold as level, which a reload may change.
protocol ThresholdLogHandler: LogHandler {
  var threshold: LogThreshold { get }
}

extension ThresholdLogHandler {
  var logLevel: Logger.Level {
    get { threshold.current }
    set { threshold.current = newValue }
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }
}

/// `credd: warning: message key=value …` on standard error.
struct LineLogHandler: ThresholdLogHandler {
  let threshold: LogThreshold
  var metadata: Logger.Metadata = [:]

  func log(event: LogEvent) {
    let fields = metadata.merging(event.metadata ?? [:]) { $1 }
    let bytes = Array("credd: \(event.level): \(event.text(with: fields))\n".utf8)
    _ = unsafe bytes.withUnsafeBytes {
      unsafe credd_write(STDERR_FILENO, $0.baseAddress, $0.count)
    }
  }
}

extension LogEvent {
  /// The message, followed by its fields: `message key=value …`. A value is quoted if it could
  /// contain another pair, like the path of a program.
  func text(with fields: Logger.Metadata) -> String {
    var text = message.description.onOneLine
    for (key, value) in fields.sorted(by: { $0.key < $1.key }) where key != Logger.messageID {
      text += " \(key)=\("\(value)".onOneLine.asValue)"
    }
    return text
  }
}

extension String {
  /// Replaces control and invisible characters with spaces, so that no value can forge a line.
  var onOneLine: String {
    // Printable ASCII needs no change. Checking that first is 50 times faster.
    guard utf8.contains(where: { $0 < 0x20 || $0 > 0x7E }) else { return self }
    return String(String.UnicodeScalarView(unicodeScalars.map { $0.isHidden ? " " : $0 }))
  }

  fileprivate var asValue: String {
    let hidesPairs = utf8.contains {
      $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "=")
    }
    guard isEmpty || hidesPairs else { return self }
    var quoted = "\""
    for character in unicodeScalars {
      if character == "\\" || character == "\"" { quoted.append("\\") }
      quoted.unicodeScalars.append(character)
    }
    return quoted + "\""
  }
}

extension Unicode.Scalar {
  fileprivate var isHidden: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}

/// The level below which nothing is logged: one for all loggers, so that a reload can change it.
public final class LogThreshold: Sendable {
  private let level: Atomic<Int>

  public init(_ level: Logger.Level) {
    self.level = Atomic(level.rank)
  }

  public var current: Logger.Level {
    get { Logger.Level.allCases[level.load(ordering: .relaxed)] }
    set { level.store(newValue.rank, ordering: .relaxed) }
  }
}

extension Logger.Level {
  fileprivate var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// Standard error as a text stream, for messages to a person at the terminal.
public struct StandardError: TextOutputStream {
  public init() {}

  public mutating func write(_ string: String) {
    let bytes = Array(string.utf8)
    _ = unsafe bytes.withUnsafeBytes {
      unsafe credd_write(STDERR_FILENO, $0.baseAddress, $0.count)
    }
  }
}
