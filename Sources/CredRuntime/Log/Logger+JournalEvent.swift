internal import Logging

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
