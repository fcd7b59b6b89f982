internal import CredCore

/// What a backend is told when a user signs out everywhere: taken before the session forgets it.
struct Farewell: Sendable {
  let key: Session.Key
  let profile: Profile
  let user: UpstreamClient.User
  let identityID: IdentityID?
  let backendSession: BackendSession?

  init(_ session: Session) {
    key = session.key
    profile = session.profile
    user = UpstreamClient.User(uid: session.key.uid, name: session.userName)
    identityID = session.machine.identityID
    backendSession =
      switch session.machine.standing {
      case .signedIn(.password(let known)), .tokensInvalid(.password(let known)): known
      default: nil
      }
  }
}
