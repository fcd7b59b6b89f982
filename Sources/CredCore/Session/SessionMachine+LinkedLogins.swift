/// Logins that a client brings beside a backend, to be linked to its user.
///
/// They are passed when the link is made, as the mobile SDKs do it: nobody renews them, and a backend
/// that got them for ever would refuse its user everything once they have ended. So a `login` is decided
/// by the callback that brings them, and the next one goes without.
extension SessionMachine {
  /// Whether a call brings the backend logins of a client. The token file's are another program's, which
  /// keeps them fresh.
  func bringsLogins(_ call: UpstreamCall) -> Bool {
    guard case .tokenCallback = call else { return false }
    return held.logins.logins.contains { $0.provider != plan.tokenFileProvider }
  }

  /// The backend has answered a callback with a token: what it brought is linked, and not sent again.
  mutating func loginsTaken(_ refresh: inout Refresh) {
    if refresh.bringsLogins { dropLoginsOfClients() }
    refresh.bringsLogins = false
    // A later refusal in this refresh is about the token, not about the link.
    refresh.bringsLink = false
    work = .refreshing(refresh)
  }

  /// Logins that no `login` waits for any more, and that the backend refuses: it is asked once more
  /// without. Those of a `login` that it refuses are a sign-in that has failed.
  mutating func remedyOfLogins(_ refresh: Refresh, _ failure: UpstreamFailure) -> Refresh? {
    guard refresh.bringsLogins, failure.mayRefuseLogins, !isLinkingLogins else { return nil }
    dropLoginsOfClients()
    return refresh
  }

  /// Whether a `login` waits for the backend's word about the logins that it brought.
  var isLinkingLogins: Bool { signIn.map { !$0.isAccepted && $0.kind == .tokens } ?? false }

  private mutating func dropLoginsOfClients() {
    for login in held.logins.logins where login.provider != plan.tokenFileProvider {
      held.logins.remove(login.provider)
      held.loginExpirations.remove(login.provider)
    }
  }
}
