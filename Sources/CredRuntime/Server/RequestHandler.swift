internal import CredCore

/// What the server does not know: what a request line means.
protocol RequestHandler: AnyObject {
  /// Answers a line by ``ClientServer/reply(_:to:)``, at once, or parks the connection and answers
  /// later.
  func handle(_ line: borrowing Span<UInt8>, from connection: Connection, now: Instant)
  /// The connection is gone, and with it whoever waited on it.
  func closed(_ connection: Connection)
}
