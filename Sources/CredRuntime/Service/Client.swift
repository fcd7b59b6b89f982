internal import CredCore

/// A request that is being waited for.
final class ParkedRequest {
  let request: Request
  /// The session it waits in, if it waits for that.
  let session: Session?
  /// It waits for the caller's name, and will be answered from the start.
  let awaitsName: Bool
  /// Until when the decision to let it wait counts.
  var grantedUntil = Instant.distantFuture

  init(request: Request, session: Session? = nil, awaitsName: Bool = false) {
    self.request = request
    self.session = session
    self.awaitsName = awaitsName
  }
}

/// What a connection listens to.
struct Watch {
  enum Scope {
    case all
    case profile(String)
  }

  let scope: Scope
  /// Comes back with every line.
  let id: RequestID?
  /// Until when the decision to let it listen counts.
  var grantedUntil = Instant.distantFuture

  func covers(_ name: String) -> Bool {
    switch scope {
    case .all: true
    case .profile(let profile): profile == name
    }
  }
}

/// What the server does not know: what a request line means.
protocol RequestHandler: AnyObject {
  /// Answers a line by ``ClientServer/reply(_:to:)``, at once, or parks the connection and answers
  /// later.
  func handle(_ line: borrowing Span<UInt8>, from connection: Connection, now: Instant)
  /// The connection is gone, and with it whoever waited on it.
  func closed(_ connection: Connection)
}
