/// Logins that a client brings beside a backend, to be linked to its user.
///
/// They are passed when the link is made, as the mobile SDKs do it: nobody renews them, and a backend
/// that got them for ever would refuse its user everything once they have ended. So a `login` is decided
/// by the callback that brings them, and the next one goes without.
extension SessionMachine {
  /// The backend has answered a callback with a token: what it brought is linked, and not sent again.
  mutating func loginsTaken(_ refresh: inout Refresh, _ context: inout EventContext) {
    if refresh.bringsLogins { held.dropLoginsOfClients(plan) }
    refresh.bringsLogins = false
    // A later refusal in this refresh is about the token, not about the link.
    refresh.bringsLink = false
    work = .refreshing(refresh)
    // Beside a password: whatever comes now, the user is signed in and linked.
    if signIn?.state == .linking { acceptSignIn(&context) }
  }

  /// Whether a `login` waits for the backend's word about the logins that it brought.
  var isLinkingLogins: Bool { signIn?.isLinkingLogins ?? false }
}
