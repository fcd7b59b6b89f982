/// Suggests a known name for a misspelt one.
///
/// For short lists, and for what is done once, such as a configuration. A client may bring a misspelt
/// profile with each request: see ``NameIndex``.
public enum NearestName {
  /// Longer texts are near no known name; the comparison would only cost time.
  static let longestName = 64

  /// The known name with the fewest edits to `text`; of several, the first. Nil if it needs more edits
  /// than a third of the text.
  static func of(_ text: String, in known: [String]) -> String? {
    guard var search = NameSearch(for: text) else { return nil }
    for name in known { search.look(at: normalized(name), name) }
    return search.nearest
  }

  /// `; did you mean 'x'?` for the end of a message, or `otherwise`.
  public static func suggestion(_ text: String, in known: [String], otherwise: String = "")
    -> String
  {
    suggestion(of: of(text, in: known), otherwise: otherwise)
  }

  static func suggestion(of name: String?, otherwise: String) -> String {
    name.map { "; did you mean '\($0)'?" } ?? otherwise
  }

  /// Lower case, and underscores for dashes: the commonest slips count as no edit.
  static func normalized(_ text: String) -> [UInt8] {
    text.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
      case UInt8(ascii: "-"): UInt8(ascii: "_")
      default: byte
      }
    }
  }
}

/// Many names in which a misspelt one is looked for. However many there are, and whatever the text is,
/// a search takes less than the time slice of a user.
public struct NameIndex: Sendable {
  private struct Entry: Sendable {
    let key: [UInt8]
    let name: String
  }

  /// How many names one search looks at, and how many cells of ``EditTable`` it fills.
  static let mostNames = 256
  static let mostCells = 2048
  /// By their keys.
  private let entries: [Entry]

  private init(entries: [Entry]) { self.entries = entries }

  public init(_ names: some Sequence<String>) {
    entries = names.map { Entry(key: NearestName.normalized($0), name: $0) }
      .sorted { $0.key.lexicographicallyPrecedes($1.key) }
  }

  /// `; did you mean 'x'?` for the end of a message, or `otherwise`.
  public func suggestion(for text: String, otherwise: String = "") -> String {
    NearestName.suggestion(of: search(for: text)?.nearest, otherwise: otherwise)
  }

  /// The same among the names that somebody may know. Nothing where the search could not look at all: it
  /// would show how many others there are.
  public func suggestion(for text: String, among isKnown: (String) -> Bool) -> String {
    guard entries.count <= Self.mostNames else { return "" }
    return NameIndex(entries: entries.filter { isKnown($0.name) }).suggestion(for: text)
  }

  /// Looks at the names from the position outwards where the text would stand: most slips leave the
  /// beginning of a name.
  func search(for text: String) -> NameSearch? {
    guard var search = NameSearch(for: text) else { return nil }
    var after = position(of: search.wanted)
    var before = after - 1
    while search.names < Self.mostNames, search.cells < Self.mostCells {
      guard before >= 0 || after < entries.count else { break }
      if after < entries.count {
        search.look(at: entries[after].key, entries[after].name)
        after += 1
      }
      if before >= 0 {
        search.look(at: entries[before].key, entries[before].name)
        before -= 1
      }
    }
    return search
  }

  /// The index of the first entry that does not stand before a key.
  private func position(of key: [UInt8]) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].key.lexicographicallyPrecedes(key) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }
}

/// A search for the name with the fewest edits to a text.
struct NameSearch {
  let wanted: [UInt8]
  private(set) var nearest: String?
  /// Names that were looked at.
  private(set) var names = 0
  private var table = EditTable()
  /// A name with more edits is none that is looked for; below zero once nothing nearer can be found.
  private var mostEdits: Int

  /// Nil for a text that is near no name.
  init?(for text: String) {
    guard (1...NearestName.longestName).contains(text.utf8.count) else { return nil }
    wanted = NearestName.normalized(text)
    mostEdits = max(1, min(3, wanted.count / 3))
  }

  /// Cells of the table that were filled.
  var cells: Int { table.cells }

  /// Of names with as many edits the first counts.
  mutating func look(at key: [UInt8], _ name: String) {
    names += 1
    guard mostEdits >= 0, let edits = table.edits(from: wanted, to: key, atMost: mostEdits) else {
      return
    }
    nearest = name
    mostEdits = edits - 1
  }
}

/// The table by which edits are counted; swapping two neighbours counts as one (optimal string
/// alignment). Its memory serves one comparison after another.
struct EditTable {
  private var beforeLast: [Int] = []
  private var last: [Int] = []
  private var row: [Int] = []
  private(set) var cells = 0

  /// The number of edits between two texts; nil if it is more than a limit.
  ///
  /// Only cells less than the limit away from the diagonal can belong to so few edits.
  mutating func edits(from a: [UInt8], to b: [UInt8], atMost limit: Int) -> Int? {
    guard abs(a.count - b.count) <= limit else { return nil }
    guard !a.isEmpty, !b.isEmpty else { return max(a.count, b.count) }
    makeRoom(b.count + 1)
    for j in 0...b.count { last[j] = min(j, limit + 1) }
    var leastOfLast = 0
    for i in 1...a.count {
      let least = fillRow(i, a, b, limit)
      // A swap goes back by two rows.
      guard least <= limit || leastOfLast < limit else { return nil }
      leastOfLast = least
      swap(&beforeLast, &last)
      swap(&last, &row)
    }
    return last[b.count] <= limit ? last[b.count] : nil
  }

  private mutating func makeRoom(_ count: Int) {
    guard row.count < count else { return }
    beforeLast = [Int](repeating: 0, count: count)
    last = beforeLast
    row = beforeLast
  }

  /// - Returns: the least number in the row.
  private mutating func fillRow(_ i: Int, _ a: [UInt8], _ b: [UInt8], _ limit: Int) -> Int {
    let first = max(1, i - limit)
    let end = min(b.count, i + limit)
    row[first - 1] = first == 1 ? min(i, limit + 1) : limit + 1
    var least = row[first - 1]
    for j in first...end {
      var edits = min(
        last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
      if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
        edits = min(edits, beforeLast[j - 2] + 1)
      }
      row[j] = min(edits, limit + 1)
      least = min(least, edits)
    }
    if end < b.count { row[end + 1] = limit + 1 }
    cells += end - first + 1
    return least
  }
}
