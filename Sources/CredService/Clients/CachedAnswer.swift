import CredCore

/// The answer to a line that the same user sent before. This is the hot path: it needs no parsing,
/// look-up or decision.
final class CachedAnswer {
  private let line: [UInt8]
  let session: Session
  /// The `purpose` in the line.
  let purpose: String?
  /// After this time access is decided again.
  private let until: Instant

  init(line: [UInt8], session: Session, purpose: String?, until: Instant) {
    self.line = line
    self.session = session
    self.purpose = purpose
    self.until = until
  }

  /// Whether the session's present reply answers this line.
  func fits(_ line: borrowing Span<UInt8>, _ now: Instant) -> Bool {
    now < session.quietUntil && now < until && self.line.isEqual(to: line)
  }
}
