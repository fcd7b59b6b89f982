import TestSupport
import Testing

@testable import CredCore

/// Names that are suggested for misspelt ones, and the work that takes.
struct NearestNameTests {
  @Test(
    arguments: [
      ("htp", "http"), ("tpye", "type"), ("MAX-CONNECTIONS", "max_connections"), ("x", nil),
      ("completely", nil), ("", nil), (String(repeating: "t", count: 5000), nil),
    ] as [(String, String?)])
  func nearestNames(text: String, nearest: String?) {
    expect(NearestName.of(text, in: ["http", "type", "max_connections"]), equals: nearest)
  }

  @Test(arguments: [
    ("", "abc", 3), ("kitten", "sitting", 3), ("ab", "ba", 1), ("abc", "abc", 0), ("abc", "", 3),
    ("abcdef", "badcfe", 3), ("production", "porduction", 1), ("a", "aaaaa", 4),
  ])
  func editDistance(a: String, b: String, edits: Int) {
    for (a, b) in [(Array(a.utf8), Array(b.utf8)), (Array(b.utf8), Array(a.utf8))] {
      for limit in 0...6 {
        var table = EditTable()
        let found = table.edits(from: a, to: b, atMost: limit)
        expect(found, equals: edits <= limit ? edits : nil, "at most \(limit)")
      }
    }
  }

  /// The whole table, of which a search fills only a band.
  private func wholeTable(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var rows = [Array(0...b.count)]
    for i in 1...a.count {
      var row = [i]
      for j in 1...b.count {
        var edits = min(
          rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
        if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
          edits = min(edits, rows[i - 2][j - 2] + 1)
        }
        row.append(edits)
      }
      rows.append(row)
    }
    return rows[a.count][b.count]
  }

  /// The memory of one table serves all comparisons.
  @Test func theBandHoldsWhatTheWholeTableSays() {
    var texts: [[UInt8]] = [[]]
    for _ in 0..<4 {
      texts += texts.flatMap { text in [text + [1], text + [2], text + [3]] }
    }
    let some = Set(texts.filter { !$0.isEmpty }).sorted { $0.lexicographicallyPrecedes($1) }
    var table = EditTable()
    var wrong = 0
    for a in some {
      for b in some {
        let edits = wholeTable(a, b)
        for limit in 0...3 {
          let found = table.edits(from: a, to: b, atMost: limit)
          if found != (edits <= limit ? edits : nil) { wrong += 1 }
        }
      }
    }
    expect(some.count, equals: 120)
    expect(wrong, equals: 0)
  }

  /// As many profiles as there may be, which differ in little: the most expensive ones.
  private static let profiles = (0..<Limits.Configuration.profiles).map { number in
    let digits = String(number + 100_000).dropFirst()
    return "organisation-department-team-\(digits)-production-credentials-1"
  }

  @Test(arguments: [
    "organisation-department-team-05000-production-credentials-9x",
    "organisation-department-team-99999-production-credentials-999x",
    "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", "a", "team-05000",
  ])
  func aSearchLooksAtFewNamesHoweverManyThereAre(text: String) throws {
    let search = try #require(NameIndex(Self.profiles).search(for: text))
    expect(search.names <= NameIndex.mostNames + 1, "\(search.names) names")
    // The last comparison may begin just below the limit.
    let ofOne = NearestName.longestName * 7
    expect(search.cells <= NameIndex.mostCells + 2 * ofOne, "\(search.cells) cells")
  }

  @Test func amongManyNamesTheNearestIsFound() {
    let index = NameIndex(Self.profiles + ["Work", "play"])
    let slips = [
      "wrok": "Work", "WORK": "Work", "wor": "Work", "plya": "play",
      "organisation_department_team_05000_production_credential_1": Self.profiles[5000],
      "organisation-department-team-00042-production-credentials-12": Self.profiles[42],
    ]
    for (text, name) in slips {
      expect(index.suggestion(for: text), equals: "; did you mean '\(name)'?")
    }
    expect(index.suggestion(for: "nothing", otherwise: "!"), equals: "!")
    expect(NameIndex([]).suggestion(for: "x"), equals: "")
  }

  @Test func ofFewNamesAllAreLookedAt() {
    let index = NameIndex((0..<100).map { "profile-\($0)" } + ["work"])
    // The slip is in the first letter, so that it would stand elsewhere.
    expect(index.suggestion(for: "qork"), equals: "; did you mean 'work'?")
    expect(index.suggestion(for: "rofile-57"), equals: "; did you mean 'profile-57'?")
  }
}
