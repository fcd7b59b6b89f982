package import CredCore

/// The service, as the endpoint's server sees it. One authority decides for the socket and the
/// endpoint: a request to the endpoint becomes a `get`, with the same rules, sessions and refreshes.
package protocol EndpointReceiving: AnyObject {
  /// In whose share a user's connections count; nil while the user is looked up.
  func account(of uid: UInt32) -> Account?
  /// - Parameter facts: of a connection that the kernel has attested. It has no pid.
  func connectedToEndpoint(_ facts: any PeerFacts, _ sink: any ReplySink) -> Client
  /// Answers a request through the client's sink, at once or later. The server has made sure of its
  /// form, its `Host` and its path: see ``EndpointRequest/refusal(at:isAttested:)``.
  ///
  /// - Parameter arrived: when its head had ended. The caller's unit may have been looked for since.
  func receive(_ request: EndpointRequest, from client: Client, arrived: Instant, now: Instant)
  /// Counts a request that the server has refused by itself, and says whose it was where it hit a limit.
  func refused(_ refusal: EndpointRefusal, of peer: Peer)
  /// Removes a client that has disconnected.
  func left(_ client: Client)
}

/// What checks the tokens of the endpoint. It is there once the crypto library is loaded and the key
/// of this boot is read.
package struct EndpointLock: Sendable {
  /// Where the endpoint is, for clients that look for it.
  package struct Place: Sendable {
    let address: EndpointAddress
    /// The cookie of the listener's network namespace; nil before Linux 5.14.
    let networkNamespace: UInt64?

    package init(address: EndpointAddress, networkNamespace: UInt64?) {
      self.address = address
      self.networkNamespace = networkNamespace
    }
  }

  let key: TokenKey
  let digests: any Digests
  /// Nil where nothing listens.
  let place: Place?

  package init(key: TokenKey, digests: any Digests, place: Place?) {
    self.key = key
    self.digests = digests
    self.place = place
  }

  func token(
    of owner: TokenOwner, for profile: String, at time: WallTime,
    _ random: inout any RandomNumberGenerator
  ) -> EndpointToken {
    key.token(of: owner, for: profile, at: time, &random, digests)
  }
}

/// The endpoint: whether it is open, and what is wrong with it.
final class EndpointDoor {
  /// Nil while the endpoint is not open.
  private(set) var lock: EndpointLock?
  /// Whether the endpoint's lock is being made: libcrypto is loaded for it.
  private(set) var isStarting = false
  /// What is wrong with the endpoint's port; nil if nothing is.
  var problem: String?

  func start() { isStarting = true }

  func started(_ lock: EndpointLock?) {
    self.lock = lock
    isStarting = false
  }

  /// What `check` says of it; nil where nothing listens.
  var checkStep: CheckStep? {
    guard let place = lock?.place else { return nil }
    return CheckStep(
      "endpoint", isOK: problem == nil, detail: problem ?? "it listens on \(place.address)")
  }
}
