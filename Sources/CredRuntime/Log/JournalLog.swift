internal import CSystemd
internal import CredService
internal import Glibc
internal import Logging

/// Entries with fields: `CREDD_PROFILE=`, `CREDD_UID=` and so on, from the metadata's keys.
struct JournalLogHandler: ThresholdLogHandler {
  let threshold: LogThreshold
  var metadata: Logger.Metadata = [:]

  func log(event: LogEvent) {
    Self.send(fields(of: event).map { Array($0.utf8) })
  }

  func fields(of event: LogEvent) -> [String] {
    let metadata = metadata.merging(event.metadata ?? [:]) { $1 }
    // MESSAGE repeats the fields, because `journalctl` shows only MESSAGE.
    var fields = [
      "MESSAGE=\(event.text(with: metadata))", "PRIORITY=\(event.level.priority)",
      "SYSLOG_IDENTIFIER=credd",
    ]
    for (key, value) in metadata {
      let prefix = key == Logger.messageID ? "" : "CREDD_"
      fields.append("\(prefix)\(key.uppercased())=\("\(value)".onOneLine)")
    }
    return fields
  }

  private static func send(_ fields: [[UInt8]]) {
    var vectors: [iovec] = unsafe []
    func next(_ index: Int) {
      guard index < fields.count else {
        unsafe sd_journal_sendv(&vectors, Int32(vectors.count))
        return
      }
      unsafe fields[index].withUnsafeBytes { bytes in
        unsafe vectors.append(
          iovec(
            iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count))
        next(index + 1)
      }
    }
    next(0)
  }
}
