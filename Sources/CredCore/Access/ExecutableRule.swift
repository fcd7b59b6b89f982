/// A word of `allow_executables` with the digests that follow it.
public struct ExecutableRule: Sendable, Equatable {
  /// Before a digest, in the configuration.
  static let digestPrefix = "sha256:"

  /// An absolute path with `*`, `?` and `[…]`.
  let path: GlobPattern
  /// One of these is the file's; any file will do where there is none.
  let digests: Set<String>

  /// - Parameter words: paths, each followed by its digests; the reader has checked them.
  static func list(_ words: [String]) -> [ExecutableRule] {
    var rules: [(path: String, digests: Set<String>)] = []
    for word in words {
      if word.hasPrefix(digestPrefix), !rules.isEmpty {
        rules[rules.count - 1].digests.insert(
          String(word.dropFirst(digestPrefix.count)).lowercased())
      } else {
        rules.append((word, []))
      }
    }
    return rules.map { ExecutableRule(path: GlobPattern($0.path), digests: $0.digests) }
  }

  func allows(_ executable: Caller.Executable) -> Bool {
    guard path.matches(executable.path) else { return false }
    return digests.isEmpty || executable.sha256.map(digests.contains) ?? false
  }
}
