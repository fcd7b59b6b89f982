/// Faults that the simulation injects at a seam of the service. Each is one that a daemon might
/// have, and each invariant must catch its own.
///
/// A new fault is a case here, a row in ``caughtBy``, and a condition at the seam where it happens.
public enum InjectedFault: String, Sendable, CaseIterable {
  /// `Clock`: the service's clock stands still while the host sleeps.
  case stoppedClock
  /// `HTTPSending`: a connection answers a request with the reply to the one before it.
  case mixedReplies
  /// `HostQueries`: the user database answers with another user's entry.
  case mixedUsers
  /// `HostQueries`: the user database goes on giving the name of a uid's former owner.
  case formerUsers
  /// `HTTPSending`: a token callback carries the IdentityId that its user claimed last.
  case claimedIdentities
  /// `SessionStoring`: a restart finds records under the keys of others, with their names in them.
  case mixedRecords
  /// `LineReceiving`: after a failed request the credentials of its user are cleared.
  case dropOnFailure
  /// `SessionStoring`: a restart finds only every other record.
  case lostRecords
  /// `HTTPSending`: some requests are sent twice at the same time.
  case repeatedRequests
  /// `Timer`: a timer that is set for later does not fire.
  case lostTimers
  /// `Background`: the completion of some look-ups of users never comes.
  case lostLookups
  /// `Clock`: the rate limits are counted on a clock that is a thousand times too fast.
  case fastClock
  /// `HTTPSending`: a request that fails is sent again every second, outside of all queues.
  case eagerRetries
  /// `HTTPSending`: after one failure every further request for the first user fails.
  case poison
  /// `Background`: the completion of reading a file never comes.
  case lostFiles
  /// `ResolvedConfiguration`: `keep_warm` does not reach the service.
  case forgottenKey
  /// `Clock`: the service gets a time that is a second old.
  case slowClock
  /// `SessionService.apply`: reloads never reach the service.
  case lostReloads
  /// `HTTPSending`: what a user's session sends reaches another server.
  case wrongServers
  /// `Logger`: an entry holds what a backend was sent.
  case loggedSecrets
  /// `HTTPSending`: a renewal reaches the user pool twice.
  case repeatedRenewals
  /// `HTTPSending`: STS narrows nothing, and says that it did.
  case unscopedKeys
  /// `HTTPSending`: the upstream fails for another user than the one it should.
  case mixedTroubles

  /// What must catch it.
  public var caughtBy: [Invariant] {
    switch self {
    case .stoppedClock: [.neverExpired]
    case .mixedReplies, .mixedUsers, .formerUsers, .mixedRecords: [.neverForeign]
    case .claimedIdentities: [.neverClaimed]
    case .dropOnFailure, .lostRecords: [.neverDropped]
    case .repeatedRequests: [.singleFlight]
    case .lostTimers, .lostLookups: [.answeredInTime]
    case .fastClock: [.withinRate]
    case .eagerRetries: [.boundedCalls]
    case .poison, .lostFiles: [.healthyAgain]
    case .forgottenKey: [.keptWarm]
    case .slowClock: [.noSpin]
    case .lostReloads: [.admitted]
    case .wrongServers: [.staysWithIssuer]
    case .loggedSecrets: [.secretsStay]
    case .mixedTroubles: [.ownTrouble]
    case .unscopedKeys: [.neverWider]
    case .repeatedRenewals: [.usedOnce]
    }
  }
}
