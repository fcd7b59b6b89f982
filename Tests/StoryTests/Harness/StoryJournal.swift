import CredCore
import CredService
import Logging

@testable import CredRuntime
@testable import ServiceTesting

/// The entries that the daemon would send to the journal, as it would: with the daemon's own handler.
final class StoryJournal {
  private let book: LogBook
  private let handler: JournalLogHandler
  private var read = 0

  init(_ book: LogBook, _ level: LogLevel) {
    self.book = book
    handler = JournalLogHandler(threshold: LogThreshold(Logger.Level(level)))
  }

  /// The entries since the last look: the priority's name, the message id's name, and the message. Of
  /// many with one id the first few.
  func news() -> [String] {
    let entries = book.entries
    defer { read = entries.count }
    return entries[read...].filter { $0.level >= handler.logLevel }.compactMap { entry in
      let id = entry[Logger.messageID] ?? ""
      counts[id, default: 0] += 1
      return counts[id, default: 0] > Self.fewest ? nil : line(entry)
    }
  }

  /// How many entries were left out since the last time.
  func rest() -> [String] {
    defer { counts = [:] }
    return counts.filter { $0.value > Self.fewest }.sorted { $0.key < $1.key }.map {
      "journal: \($0.value - Self.fewest) more of \(Self.name(ofID: $0.key))"
    }
  }

  private static let fewest = 4
  private var counts: [String: Int] = [:]

  private static func name(ofID id: String) -> String {
    JournalEvent(rawValue: id).map { "\($0)" } ?? id
  }

  private func line(_ entry: LogBook.Entry) -> String {
    let fields = handler.fields(of: entry.event).reduce(into: [String: String]()) {
      let parts = $1.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      $0[String(parts[0])] = String(parts[1])
    }
    let id = fields["MESSAGE_ID"].map(Self.name(ofID:))
    let words = [
      "journal", Self.priorities[fields["PRIORITY"] ?? ""] ?? "?", id ?? "-",
      fields["MESSAGE"] ?? "",
    ]
    return words.joined(separator: " ")
  }

  /// As journalctl(1) names them.
  private static let priorities = [
    "2": "crit", "3": "err", "4": "warning", "5": "notice", "6": "info", "7": "debug",
  ]
}

extension LogBook.Entry {
  /// What was logged, for another handler.
  var event: LogEvent {
    LogEvent(
      level: level, message: "\(message)", metadata: metadata, source: nil, file: #fileID,
      function: #function, line: #line)
  }
}
