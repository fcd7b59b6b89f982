/// The files of `$CREDENTIALS_DIRECTORY` that the configuration of a command names, in its words or
/// in the values of its variables. The command may read no other file there.
public enum NamedCredentials: Equatable, Sendable {
  /// The directory itself is named.
  case everything
  /// Paths within the directory; some may lead to no file.
  case files([String])

  /// - Parameters:
  ///   - texts: the words and the values.
  ///   - folder: the directory's absolute path.
  public init(in texts: [[UInt8]], folder: String) {
    var files: Set<String> = []
    let folder = folder.utf8.reversed().drop { $0 == UInt8(ascii: "/") }.reversed()
    for text in texts {
      for mention in Self.mentions(of: Array(folder), in: text) {
        guard let paths = Self.paths(after: mention) else {
          self = .everything
          return
        }
        files.formUnion(paths)
      }
    }
    self = .files(files.sorted())
  }

  /// The text after each mention of the folder.
  private static func mentions(of folder: [UInt8], in text: [UInt8]) -> [ArraySlice<UInt8>] {
    guard !folder.isEmpty, text.count >= folder.count else { return [] }
    return (0...(text.count - folder.count)).compactMap { start in
      text[start...].starts(with: folder) ? text[(start + folder.count)...] : nil
    }
  }

  /// The paths that a text may mean. The text may be a path, contain a path among other words (`sh
  /// -c "cat PATH | …"`), or be a list of paths (`PATH:PATH`).
  ///
  /// - Returns: nil if the text means the folder itself; empty if it names another folder.
  private static func paths(after mention: ArraySlice<UInt8>) -> [String]? {
    guard let first = mention.first, !ends(first) else { return nil }
    guard first == UInt8(ascii: "/") else { return [] }
    let path = mention.drop { $0 == UInt8(ascii: "/") }
    guard let next = path.first, !ends(next) else { return nil }
    return [path, path.prefix { !ends($0) }].compactMap { bytes in
      let text = String(decoding: bytes, as: UTF8.self)
      let climbs = text.utf8.split(separator: UInt8(ascii: "/")).contains {
        $0.elementsEqual("..".utf8)
      }
      return climbs ? nil : text
    }
  }

  /// Whether a path within a text ends before this byte.
  private static func ends(_ byte: UInt8) -> Bool {
    byte <= 0x20 || #""'`:,;|&<>()"#.utf8.contains(byte)
  }
}
