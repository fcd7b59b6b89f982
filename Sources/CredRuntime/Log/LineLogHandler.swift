internal import CLinux
internal import Glibc
internal import Logging

/// `credd: warning: message key=value …` on standard error.
struct LineLogHandler: LogHandler {
  let threshold: LogThreshold
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level {
    get { threshold.current }
    set { threshold.current = newValue }
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var line = "credd: \(event.level): \(event.message.description.onOneLine)"
    let fields = metadata.merging(event.metadata ?? [:]) { $1 }
    for (key, value) in fields.sorted(by: { $0.key < $1.key }) where key != Logger.messageID {
      line += " \(key)=\("\(value)".onOneLine)"
    }
    let bytes = Array((line + "\n").utf8)
    _ = unsafe bytes.withUnsafeBytes {
      unsafe credd_write(STDERR_FILENO, $0.baseAddress, $0.count)
    }
  }
}

extension String {
  /// Without control characters, so that nobody forges a second line.
  var onOneLine: String {
    String(
      String.UnicodeScalarView(
        unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
  }
}
