/// Changes to stored records. A record is fields: a byte of tag, four of length, the value.
extension [UInt8] {
  /// The record of a user who is signed in because the host is, as one who signed in by other means,
  /// of which it knows nothing.
  func asOtherwiseSignedIn(by method: UInt8) -> [UInt8] {
    // The session, its state, the means.
    var place = startIndex..<endIndex
    for tag in [6, 1, 2] as [UInt8] {
      guard let next = field(tag, in: place) else { return self }
      place = next
    }
    guard self[place] == [0] else { return self }
    var changed = self
    changed[place.lowerBound] = method
    return changed
  }

  /// Where the value of a field lies.
  private func field(_ tag: UInt8, in place: Range<Int>) -> Range<Int>? {
    var start = place.lowerBound
    while start + 5 <= place.upperBound {
      let length = (1...4).reversed().reduce(0) { $0 << 8 | Int(self[start + $1]) }
      let value = start + 5..<start + 5 + length
      guard value.upperBound <= place.upperBound else { return nil }
      if self[start] == tag { return value }
      start = value.upperBound
    }
    return nil
  }
}
