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
    let fields = metadata.merging(event.metadata ?? [:]) { $1 }
    let bytes = Array("credd: \(event.level): \(event.text(with: fields))\n".utf8)
    _ = unsafe bytes.withUnsafeBytes {
      unsafe credd_write(STDERR_FILENO, $0.baseAddress, $0.count)
    }
  }
}

extension LogEvent {
  /// The message, and behind it what it is about: `message key=value …`.
  func text(with fields: Logger.Metadata) -> String {
    var text = message.description.onOneLine
    for (key, value) in fields.sorted(by: { $0.key < $1.key }) where key != Logger.messageID {
      text += " \(key)=\("\(value)".onOneLine)"
    }
    return text
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
