/// The text of the file of IdentityIds: a first line with the format's version, a line for each
/// identity, a last line with their number.
public enum IdentityFileText {
  private static let first = Array("credd-identities 1".utf8)
  private static let newline = UInt8(ascii: "\n")

  /// - Parameter lines: those of ``KnownIdentity/line``.
  public static func write(_ lines: some Collection<[UInt8]>) -> [UInt8] {
    var text = first + [newline]
    text.reserveCapacity(lines.reduce(64) { $0 + $1.count + 1 })
    for line in lines {
      text += line
      text.append(newline)
    }
    text += "end \(lines.count)\n".utf8
    return text
  }

  /// What a file holds.
  public struct Content: Sendable, Equatable {
    public var identities: [KnownIdentity] = []
    /// What is wrong with it, in words for a person; the rest of it is good.
    public var damage: String?
  }

  /// Reads a file, however damaged.
  public static func read(_ text: [UInt8]) -> Content {
    guard text.count <= Limits.identityFileBytes else {
      return Content(damage: "it is larger than \(Limits.identityFileBytes) bytes")
    }
    var lines = text.split(separator: newline, omittingEmptySubsequences: false)[...]
    guard lines.popFirst()?.elementsEqual(first) ?? false else {
      return Content(damage: "its first line is not '\(String(decoding: first, as: UTF8.self))'")
    }
    var content = Content()
    var firstBad: Int?
    var end: Int?
    for (index, line) in lines.enumerated() {
      if let number = Self.end(line) {
        end = number
        break
      }
      guard content.identities.count < Limits.sessions else {
        content.damage = "it holds more than \(Limits.sessions) identities"
        return content
      }
      if let identity = KnownIdentity(line: line) {
        content.identities.append(identity)
      } else {
        firstBad = firstBad ?? index + 2
      }
    }
    if let firstBad {
      content.damage = "line \(firstBad) is not understood"
    } else if end != content.identities.count {
      content.damage = "it is not whole"
    }
    return content
  }

  private static func end(_ line: ArraySlice<UInt8>) -> Int? {
    guard line.starts(with: "end ".utf8) else { return nil }
    return String(validating: line.dropFirst(4), as: UTF8.self).flatMap { Int($0) }
  }
}
