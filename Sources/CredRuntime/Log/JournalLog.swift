internal import CSystemd
internal import Glibc
internal import Logging

/// The events that a person searches the journal for, by their message ids (systemd.journal-fields
/// (7)): `journalctl MESSAGE_ID=…`. An id never changes its meaning; `systemd/credd.catalog`
/// explains each.
public enum JournalEvent: String, CaseIterable, Sendable {
  /// Credentials were handed to a caller, for the first time since they were fetched.
  case credentialsGiven = "fa49fa7d50a447f891a95eaa44ec9dd5"
  /// A user signed in, or is known again.
  case signedIn = "47da057da31a4c58a5b95dea84fa47a5"
  /// A user signed out, or was signed out.
  case signedOut = "7b9de9ebfe8b42528f85473ecc139694"
  /// What vouched for a user is no longer accepted.
  case signInNeeded = "9e590e6e166f46f4a57ccfe6b0b8025e"
  /// A user has another identity in the pool.
  case identityChanged = "94e1741254274b42be1c6d57a7867104"
  /// Credentials could not be fetched or renewed; those at hand go on serving.
  case refreshFailed = "38ea56f3a2084aac945afc1520d47a1d"
  /// A caller may not use a profile.
  case accessRefused = "60c8f6f0da0740dca071e5e8376e27a7"
  /// The configuration was read anew and is in force.
  case configurationLoaded = "6ccb95d91700469784a933ca33289ed0"
  /// The configuration was read anew and is unusable; the old one stays.
  case configurationRefused = "c0f5b5e7e64f4df9bb6601cd708b5fb6"
  /// Sessions came back from before a restart.
  case sessionsRestored = "f1695e308fb343d7911f5808f2030dd4"
  /// Sessions of before a restart could not be read.
  case sessionsDropped = "9ee4298259eb49e79fab529c8c49a8d4"
  /// Identities cannot be kept on disk.
  case stateUnwritable = "71dfaad2bb1f455ea6cfdba203158cb1"
  /// This host's clock is off by more than a minute.
  case clockOff = "c436856a040245be8ee31f569f037f92"
}

/// Entries with fields: `CREDD_PROFILE=`, `CREDD_UID=` and so on, from the metadata's keys.
struct JournalLogHandler: LogHandler {
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
    Self.send(fields(of: event).map { Array($0.utf8) })
  }

  func fields(of event: LogEvent) -> [String] {
    let metadata = metadata.merging(event.metadata ?? [:]) { $1 }
    // Fields alone are seen by nobody who reads along.
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

extension Logger {
  /// The metadata key that becomes the journal's `MESSAGE_ID=`, not a field of credd's own.
  static let messageID = "message_id"

  /// Logs an event that people search for.
  func log(
    _ event: JournalEvent, _ level: Level, _ message: @autoclosure () -> Message,
    _ metadata: @autoclosure () -> Metadata = [:]
  ) {
    log(
      level: level, message(),
      metadata: metadata().merging([Self.messageID: "\(event.rawValue)"]) { $1 })
  }
}
