internal import CredCore

/// What a request line means for who sent it before: the hot path, on which nothing is parsed,
/// looked up or decided.
final class QuickAnswer {
  private let line: [UInt8]
  let session: Session
  /// When access must be decided anew.
  private let until: Instant

  init(line: [UInt8], session: Session, until: Instant) {
    self.line = line
    self.session = session
    self.until = until
  }

  /// Whether the session's rendered reply answers this line now.
  func fits(_ line: borrowing Span<UInt8>, _ now: Instant) -> Bool {
    now < session.quietUntil && now < until && self.line == line
  }
}
