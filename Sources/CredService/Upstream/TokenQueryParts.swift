import CredCore

/// The parts of a token callback that come from its session.
struct TokenQueryParts {
  let identityID: IdentityID?
  let logins: LoginsMap
  let session: BackendSession?
  let isForced: Bool
  let caller: CallerNote?
  /// Whether a person has signed in to the session, or has an account linked to it.
  let isPersonal: Bool
}
