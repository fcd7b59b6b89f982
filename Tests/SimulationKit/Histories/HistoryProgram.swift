/// The program of a client's process.
struct HistoryProgram: Hashable, Sendable {
  let path: String
  let inode: UInt64
  /// A digit, which the digest repeats.
  private let digit: String

  static let all = [
    HistoryProgram(path: "/usr/bin/app", inode: 1, digit: "a"),
    HistoryProgram(path: "/opt/tool/run", inode: 2, digit: "b"),
  ]

  /// Values of `allow_executables`. The last one has another program's digest.
  static let rules = [
    [all[0].path], ["/opt/*/run"], [all[0].path, "sha256:\(all[0].digest)"],
    [all[1].path, "sha256:\(all[0].digest)"],
  ]

  var digest: String { String(repeating: digit, count: 64) }

  /// Whether a value of `allow_executables` admits it.
  func isAllowed(by words: [String]) -> Bool {
    switch words.count {
    case 0: true
    case 1: words[0] == path || words[0] == "/opt/*/run" && path == "/opt/tool/run"
    default: words[0] == path && words[1] == "sha256:\(digest)"
    }
  }
}
