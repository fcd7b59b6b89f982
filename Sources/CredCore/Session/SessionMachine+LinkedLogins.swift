/// Logins that a client brings beside a backend, to be linked to its user.
///
/// They are passed once, when the link is made, as in the mobile SDKs. Nobody renews them: if credd
/// sent them for ever, the backend would refuse everything once they have expired. So the callback
/// that brings them decides the `login`, and later callbacks go without them.
extension SessionMachine {
  /// The backend has answered a callback with a token: what it brought is linked, and not sent again.
  ///
  /// - Parameter identityID: to which it is linked.
  mutating func loginsTaken(
    _ identityID: IdentityID, _ refresh: inout Refresh, _ context: inout EventContext
  ) {
    if refresh.brought.contains(.logins) {
      setIdentity(identityID, &context)
      let (linked, plan) = (held.logins, plan)
      // If the sign-in is refused by what follows, the link stays.
      signIn?.before.noteLinks(of: linked, to: identityID, plan)
      held.loginsLinked(to: identityID, plan)
    }
    // A later refusal in this refresh is about the token, not about what was linked.
    refresh.tookWhatItBrought()
    work = .refreshing(refresh)
    // Beside a password: whatever comes now, the user is signed in and linked.
    if signIn?.state == .linking { acceptSignIn(&context) }
  }

  /// Whether a refusal of a call may be about what a person has brought: a sign-in, a linked account, or
  /// logins. Nobody here brings those of the token file.
  public func isPersonal(_ call: UpstreamCall) -> Bool {
    if held.state.isPersonal || held.link != nil { return true }
    if case .tokenCallback = call { return held.bringsLogins(plan) }
    return false
  }

  /// Whether a `login` waits for the backend's word about the logins that it brought.
  var isLinkingLogins: Bool { signIn?.isLinkingLogins ?? false }
}
