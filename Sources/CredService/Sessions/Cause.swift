import CredCore

/// The cause of an event of a session, as far as its actions need to know it.
enum Cause {
  /// Time, the answer to a call, or a request that waits in the session.
  case own
  /// A request of this client that does not wait.
  case request(Client)
  /// A sign-out. The journal has another entry for it.
  case signOut
  /// A reload. Before it the session had this profile.
  case reload(from: Profile)

  var client: Client? { if case .request(let client) = self { client } else { nil } }

  var isSignOut: Bool { if case .signOut = self { true } else { false } }

  var formerProfile: Profile? { if case .reload(let former) = self { former } else { nil } }
}
