extension HTTPReply {
  /// A server that asks for more, by mistake or by malice, is asked again after this long.
  static let longestRetryAfter = Duration.seconds(3600)

  /// How long the server asked to be left alone; a date counts from its own `Date`.
  var retryAfter: Duration? {
    header("Retry-After").flatMap { Duration(retryAfter: $0, now: date) }
      .map { min($0, Self.longestRetryAfter) }
  }

  /// The server's time at the answer: lifetimes are counted from it, so that a wrong local clock
  /// does no harm.
  public var date: WallTime? { header("Date").flatMap { WallTime(httpDate: $0) } }
}
