import CredCore

/// Why something happens to a session, as far as its actions need to know it.
enum Cause {
  /// Time, the answer to a call, or a request that waits in the session.
  case own
  /// This client's request, which does not wait.
  case request(Client)
  /// A sign-out, which has an entry of its own in the journal.
  case signOut
  /// A reload. Before it the session had this profile.
  case reload(from: Profile)

  var client: Client? { if case .request(let client) = self { client } else { nil } }

  var isSignOut: Bool { if case .signOut = self { true } else { false } }

  var formerProfile: Profile? { if case .reload(let former) = self { former } else { nil } }
}
