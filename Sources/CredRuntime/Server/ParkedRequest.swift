internal import CredCore

/// A request that is being waited for.
struct ParkedRequest {
  let request: Request
  /// The session it waits in, if it waits for that.
  var session: Session?
  /// It waits for the caller's name, and will be answered from the start.
  var awaitsName = false
}
