extension Duration {
  /// Reads a `Retry-After` header (RFC 9110 §10.2.3): seconds, or an HTTP date that counts from
  /// `now`, best the server's own `Date`. A date in the past is zero; seconds saturate at 2³¹ - 1,
  /// so whoever waits sets a ceiling of its own.
  public init?(retryAfter text: String, now: WallTime?) {
    var scanner = TimeScanner(text)
    if let digits = scanner.digits() {
      guard scanner.isAtEnd else { return nil }
      self = .seconds(Int32(digits) ?? .max)
    } else {
      guard let until = WallTime(httpDate: text), let now else { return nil }
      self = max(.zero, until - now)
    }
  }
}
