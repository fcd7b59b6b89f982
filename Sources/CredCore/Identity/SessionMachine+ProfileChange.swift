extension SessionMachine {
  /// The profile's configuration is another one. Who waits goes on waiting, for what comes of it.
  mutating func changeProfile(_ next: SessionPlan, _ change: ProfileChange, _ turn: inout Turn) {
    switch change {
    case .nothingHeld: break
    case .credentials: dropWhatTheOldProfileGave(&turn)
    case .identity: beginAnew(&turn)
    }
    plan = next
    // A pause was for what may be mended now.
    if case .resting = work { rest() }
    guard signInProgress != nil, work == .idle else { return }
    start(&turn)
    // The new plan may have no way to go on with it.
    if work == .idle { abandonSignIn(signInRequired, &turn) }
  }

  private mutating func dropWhatTheOldProfileGave(_ turn: inout Turn) {
    forgetCredentials(&turn)
    // What a sign-in that is refused goes back to.
    signInProgress?.before.credentials = nil
    // What is under way was asked for in the old way; a password is asked about once, and what
    // comes after it is asked in the new way.
    if case .fetching = work, !awaitsPassword { rest() }
  }

  private var awaitsPassword: Bool {
    signInProgress.map { $0.way.isPassword && !$0.isAccepted } ?? false
  }

  private mutating func beginAnew(_ turn: inout Turn) {
    abandonSignIn(
      ProtocolError(.signInFailed, "the profile's configuration changed in between"), &turn)
    let byUser = standing == .signedOut(byUser: true)
    forgetUser(&turn)
    // Nobody signed out here, but who did before stays so.
    standing = .signedOut(byUser: byUser)
  }
}
