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
