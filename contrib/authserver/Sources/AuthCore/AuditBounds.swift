/// Limits the entries that one host or address can cause as often as it likes. For each kind and
/// source, the first entries of a time are written one by one. The rest become one entry with their
/// number.
public struct AuditBounds: Sendable {
  private struct Key: Hashable {
    let event: String
    let source: String
  }

  private struct Window {
    let start: Timestamp
    var written = 0
    /// What the entry with the number says of the entries in whose place it stands.
    var rest: (count: Int, members: [String: String], last: Timestamp)?
  }

  private let sources: Int
  private var windows: [Key: Window] = [:]
  /// When ended windows were last looked for because there were too many windows.
  private var looked: Timestamp?

  /// - Parameter sources: how many sources are counted separately, over all kinds.
  public init(sources: Int) { self.sources = sources }

  /// - Parameters:
  ///   - source: who could cause the entry as often as they like.
  ///   - host: an enrolled host. If there are too many sources to count, the sources of such a host
  ///     are counted together, and other sources take no place of the host.
  ///   - isWhole: whether each note of this kind is written if there are too many sources to count,
  ///     because the note says who got what.
  /// - Returns: what is to be written now. The entry with the number has the members that are the
  ///   same in all entries.
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

  /// The caller could not write these notes. From now on, the first notes of each source are given
  /// out again.
  public mutating func startAgain() {
    for key in windows.keys { windows[key]?.written = 0 }
  }

  /// What is to be written of the windows that are over. When the server stops, all windows are
  /// over.
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
