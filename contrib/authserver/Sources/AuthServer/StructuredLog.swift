import AuthCore
public import FoundationEssentials
import Glibc
public import Logging

/// One JSON object a line on stderr, which the journal keeps. Values come as members, never within
/// the message, so that no name can forge a line.
public struct StructuredLog: LogHandler {
  public var logLevel: Logger.Level
  public var metadata: Logger.Metadata = [:]
  private let write: @Sendable (Data) -> Void

  public init(
    level: Logger.Level, write: @escaping @Sendable (Data) -> Void = Self.stderr
  ) {
    logLevel = level
    self.write = write
  }

  /// Nobody waits for who reads it: see ``LogBuffer``.
  public static let stderr: @Sendable (Data) -> Void = { buffer.add($0) }

  private static let buffer = {
    // What the last moment has said is written before the program ends.
    atexit { StructuredLog.flush() }
    return LogBuffer(
      limit: Limits.waitingLogBytes,
      note: { dropped in
        line(.warning, "lines of the log were dropped: nobody read it", ["lines": "\(dropped)"])
      }, write: writeAll)
  }()

  private static func flush() { buffer.flush() }

  /// Opening `/dev/stderr` would not do: the journal's end is a socket, which cannot be opened, and a
  /// file would be emptied.
  private static let writeAll: @Sendable (Data) -> Void = { lines in
    var rest = Array(lines)[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { bytes in
        unsafe Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count)
      }
      // Nobody reads it any more, or the disk is full: there is nowhere to say so.
      guard count > 0 || (count < 0 && errno == EINTR) else { return }
      rest = rest.dropFirst(max(0, count))
    }
  }

  /// For the administrator's commands, whose own stderr nobody keeps.
  public static let syslog: @Sendable (Data) -> Void = { line in
    unsafe String(decoding: line.dropLast(), as: UTF8.self).withCString { text in
      unsafe withVaList([text]) { unsafe vsyslog(LOG_NOTICE, "%s", $0) }
    }
  }

  public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  public func log(event: LogEvent) {
    let all = metadata.merging(event.metadata ?? [:]) { $1 }
    write(Self.line(event.level, "\(event.message)", all))
  }

  private static func line(
    _ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata
  ) -> Data {
    var members = ["time": Date.now.formatted(.iso8601), "level": "\(level)"]
    members["message"] = message
    for (key, value) in metadata { members[key] = "\(value)".visible }
    return Data(JSONObject.text(members) + [UInt8(ascii: "\n")])
  }
}
