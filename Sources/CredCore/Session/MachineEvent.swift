/// An event of a session, named in the past tense.
public enum MachineEvent: Sendable {
  /// A request came that the cache could not answer.
  case asked(Waiter)
  /// A `login`; answered by `giveState` or `refuse`.
  case signInRequested(SignInRequest)
  /// The user signed out: everything is dropped, and nothing signs in again by itself.
  case loggedOut
  /// The uid has another name: it is another person's now.
  case userChanged
  /// The profile has another configuration.
  case profileChanged(SessionPlan, ProfileChange)
  /// A client asked to drop the credentials, or the identity too.
  case cleared(ClearScope)
  /// The daemon refuses callers that wait for a sign-in.
  case released
  /// A waiting client is gone.
  case waiterLeft(UInt64)
  /// The daemon stops and answers every waiting client itself. Calls under way go on.
  case waitersDismissed
  /// The session from which this one is derived has changed.
  case sourceChanged(SourceFacts)
  /// The call with that id ended.
  case callFinished(CallID, UpstreamOutcome)
  /// ``SessionMachine/unattendedStart(signingIn:)`` has come, and the user may use the profile.
  case renewalDue
  /// ``SessionMachine/nextWake`` has come.
  case timePassed
}

/// An action of the daemon for a session; actions are carried out in order.
public enum MachineAction: Sendable, Equatable {
  /// Perform a call and bring its outcome back under that id.
  case call(CallID, UpstreamCall)
  /// Answer a waiter with the credentials of the session.
  case giveCredentials(UInt64)
  /// Answer a waiter with the token of the session.
  case giveToken(UInt64)
  /// Answer a waiter that acts on the account with an access token, for one request.
  ///
  /// `isNew`: the token came for this waiter. A token that was held before may have been revoked.
  case lendToken(UInt64, Secret, isNew: Bool)
  /// Revoke the refresh token of a sign-in that the session does not hold any more.
  case abandon(ProviderSession)
  /// Answer a `login` with the state of the session.
  case giveState(UInt64)
  /// A sign-in of that number has ended; the error is nil if its user is signed in. The daemon
  /// records this even if no client waits.
  case signInEnded(UInt64, ProtocolError?)
  /// Answer a waiter with an error.
  case refuse(UInt64, ProtocolError)
  /// The credentials were replaced or dropped: the rendered reply is no longer valid.
  case credentialsChanged
  /// Tell watchers and the journal.
  case announce(Announcement)
}

/// A failure and when it happened.
public struct PastFailure: Sendable, Equatable {
  public let failure: UpstreamFailure
  public let at: Instant
  /// Whether a derived session had its source renewed in vain since its last success.
  var hasRenewedSource = false
}

/// A change that the daemon tells to watchers and the journal.
public enum Announcement: Sendable, Equatable {
  case state(SignInState)
  case identityChanged(previous: IdentityID?, current: IdentityID?)
  case refreshed(expiration: WallTime)
  /// A refresh failed; the session still has valid credentials.
  case degraded(UpstreamFailure)
  /// A refresh failed, and the session has no credentials.
  case failed(UpstreamFailure)
  /// A `login` failed; the session has not changed.
  case signInFailed(UpstreamFailure)
  /// A token or login of the user expires soon.
  case expiring(ProtocolError)
}
