extension WallTime {
  /// A time that a server may mean: from 2001 to 2286, the ten-digit epoch seconds. Milliseconds
  /// in place of seconds, zero, infinity and NaN are nil.
  init?(plausibleSecondsSince1970 seconds: Double) {
    guard seconds >= 1e9, seconds < 1e10 else { return nil }
    self.init(secondsSince1970: seconds)
  }
}
