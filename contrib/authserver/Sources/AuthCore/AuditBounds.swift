/// Keeps entries few that one host or address can have written as often as it likes: of one kind and
/// source the first of a while are written one by one, and the rest are one entry with their number.
public struct AuditBounds: Sendable {
  private struct Key: Hashable {
    let event: String
    let source: String
  }

  private struct Window {
    let start: Timestamp
    var written = 0
    /// What the entry with the number says of those that it stands for.
    var rest: (count: Int, members: [String: String], last: Timestamp)?
  }

  private let sources: Int
  private var windows: [Key: Window] = [:]
  /// When windows that are over were last looked for because there were too many.
  private var looked: Timestamp?

  /// - Parameter sources: that are counted each by itself, of one kind or several.
  public init(sources: Int) { self.sources = sources }

  /// - Parameters:
  ///   - source: who could write it as often as they like.
  ///   - host: that is enrolled. Where there are too many sources to count, those of each such host are
  ///     counted together: others fill no place of its own.
  ///   - isWhole: where there are too many sources to count, each note of this kind is written: it
  ///     says who got what.
  /// - Returns: what is to be written now. The number's entry has those members that are the same for
  ///   all.
  public mutating func admit(
    _ note: AuditNote, from source: String, of host: String? = nil, isWhole: Bool = false
  ) -> [AuditNote] {
    var due: [AuditNote] = []
    var key = Key(event: note.event, source: source)
    if windows[key] == nil, windows.count >= sources {
      due = endWhereCrowded(note.time)
      if windows.count >= sources {
        if isWhole { return due + [note] }
        key = Key(event: note.event, source: host ?? "others")
      }
    }
    if let window = windows[key], Self.isOver(window, at: note.time) {
      due += Self.summary(key, window)
      windows[key] = nil
    }
    var window = windows[key] ?? Window(start: note.time)
    if window.written < Limits.auditEach {
      window.written += 1
      due.append(note)
    } else {
      let earlier = window.rest
      let members = earlier.map { $0.members.filter { note.members[$0.key] == $0.value } }
      window.rest = ((earlier?.count ?? 0) + 1, members ?? note.members, note.time)
    }
    windows[key] = window
    return due
  }

  /// The caller could not write the notes that it was given. From now on, the first notes of each
  /// source are given out again.
  public mutating func startAgain() {
    for key in windows.keys { windows[key]?.written = 0 }
  }

  /// What is to be written of the windows that are over: of all of them where the server stops.
  public mutating func end(at now: Timestamp, all: Bool = false) -> [AuditNote] {
    let over = windows.filter { all || Self.isOver($0.value, at: now) }
    for key in over.keys { windows[key] = nil }
    return over.sorted { ($0.value.start, $0.key.source) < ($1.value.start, $1.key.source) }
      .flatMap { Self.summary($0.key, $0.value) }
  }

  /// Once a minute: all windows are looked at.
  private mutating func endWhereCrowded(_ now: Timestamp) -> [AuditNote] {
    if let looked, (Interval.seconds(0)..<Interval.minutes(1)).contains(now - looked) { return [] }
    looked = now
    return end(at: now)
  }

  /// Also where the clock was set back meanwhile.
  private static func isOver(_ window: Window, at now: Timestamp) -> Bool {
    !(Interval.seconds(0)..<Limits.auditWindow).contains(now - window.start)
  }

  private static func summary(_ key: Key, _ window: Window) -> [AuditNote] {
    guard let rest = window.rest else { return [] }
    let members = ["count": String(rest.count), "since": window.start.iso8601]
    return [AuditNote(key.event, rest.members.merging(members) { $1 }, at: rest.last)]
  }
}
