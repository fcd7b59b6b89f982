extension SessionMachine {
  /// All that says who the user is.
  struct Memory: Sendable {
    let standing: Standing
    var identityID: IdentityID?
    var logins: LoginsMap
    var expirations: LoginExpirations
    var token: HeldToken?
    var credentials: HeldCredentials?
    let userName: String?
    let customRoleARN: String?
    let work: Work
    let backOff: BackOff
  }

  var memory: Memory {
    // What was being fetched is not awaited any more, and is begun anew when it is due; a pause is
    // still a pause.
    let isPause = if case .resting = work { true } else { false }
    return Memory(
      standing: standing, identityID: identityID, logins: logins, expirations: expirations,
      token: token, credentials: credentials, userName: userName, customRoleARN: customRoleARN,
      work: isPause ? work : .idle, backOff: isPause ? backOff : BackOff())
  }

  /// Nobody was told of anything in between.
  mutating func restore(_ memory: Memory, _ turn: inout Turn) {
    standing = memory.standing
    identityID = memory.identityID
    logins = memory.logins
    expirations = memory.expirations
    token = memory.token
    credentials = memory.credentials
    userName = memory.userName
    customRoleARN = memory.customRoleARN
    work = memory.work
    backOff = memory.backOff
    turn.actions.append(.credentialsChanged)
    dropExpired(&turn)
  }
}
