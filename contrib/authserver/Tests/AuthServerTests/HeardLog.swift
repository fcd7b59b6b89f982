import Logging
import Synchronization

/// What a server logs, for a test.
final class HeardLog: Sendable {
  private let lines = Mutex<[String]>([])
  private let line: @Sendable (LogEvent) -> String?

  /// - Parameter line: what is kept of an entry, if anything.
  init(_ line: @escaping @Sendable (LogEvent) -> String?) { self.line = line }

  var all: [String] { lines.withLock(\.self) }

  var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

  private struct Handler: LogHandler {
    let log: HeardLog
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      if let line = log.line(event) { log.lines.withLock { $0.append(line) } }
    }
  }
}
