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
  /// The message, and behind it what it is about: `message key=value …`. A value in which another
  /// pair could hide, as in the path of a program, stands in quotes.
  func text(with fields: Logger.Metadata) -> String {
    var text = message.description.onOneLine
    for (key, value) in fields.sorted(by: { $0.key < $1.key }) where key != Logger.messageID {
      text += " \(key)=\("\(value)".onOneLine.asValue)"
    }
    return text
  }
}

extension String {
  /// Without what does not show or commands a terminal, so that nobody forges a second line or
  /// reorders this one.
  var onOneLine: String {
    // Of printable ASCII nothing is hidden: nearly all there is, in a fiftieth of the time.
    guard utf8.contains(where: { $0 < 0x20 || $0 > 0x7E }) else { return self }
    return String(String.UnicodeScalarView(unicodeScalars.map { $0.isHidden ? " " : $0 }))
  }

  fileprivate var asValue: String {
    let hidesPairs = utf8.contains {
      $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "=")
    }
    guard isEmpty || hidesPairs else { return self }
    return "\"" + replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
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
