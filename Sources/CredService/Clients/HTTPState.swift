import CredCore

/// The state of a client of the endpoint. A class, so that clients of the socket do not carry it.
///
/// `hasUnitToken`, `closes`, `request` and `until` belong to the request that is being answered.
final class HTTPState {
  /// Whether the token of the last request was given to its unit.
  var hasUnitToken = false
  /// Whether the connection is closed after the next answer.
  var closes = false
  /// The last request that got credentials, its session, and how long the decision about access is
  /// valid.
  var answered: (request: EndpointRequest, session: Session, until: Instant)?
  /// The request that is being answered.
  var request: EndpointRequest?
  /// When the request is answered at the latest.
  var until = Instant.distantFuture

  /// The profile of ``request``.
  var askedProfile: String? {
    guard case .credentialsOf(let profile) = request?.path else { return nil }
    return profile
  }
}
