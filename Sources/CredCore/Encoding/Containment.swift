// The standard library's own look for a text in a text belongs to the module of regular expressions,
// which would be an eighth of the daemon.

extension Collection<UInt8> {
  /// Whether `other` stands somewhere in these bytes; an empty one does.
  func holds(_ other: some Collection<UInt8>) -> Bool {
    var rest = self[...]
    while rest.count >= other.count {
      if rest.starts(with: other) { return true }
      rest = rest.dropFirst()
    }
    return false
  }
}

extension StringProtocol {
  /// Whether `other` stands somewhere in this text, byte for byte.
  func holds(_ other: String) -> Bool { utf8.holds(other.utf8) }
}
