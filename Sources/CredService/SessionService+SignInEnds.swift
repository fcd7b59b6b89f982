import CredCore

/// What ends an open sign-in: its time, its client, a reload, another sign-in.
extension SessionService {
  /// Ends the open sign-in of a session, if there is one. What comes of its calls is dropped.
  func endSignIn(of key: SessionKey, _ error: ProtocolError) {
    if let signIn = signIns[key] { end(signIn, error) }
  }

  /// - Parameter error: for the client that waits.
  func end(_ signIn: OpenSignIn, _ error: ProtocolError) {
    signIns.remove(signIn)
    if let call = signIn.call.take() {
      // What was sent goes on: tokens that it brings are to be revoked.
      _ = host.upstream.withdraw(call)
      if signIn.maySendMessage { countMessage(of: signIn, host.clock.now) }
    }
    defer { stepTaken(signIn) }
    countUnjudged(signIn)
    revokeUnclaimed(of: signIn)
    guard let client = signIn.client else { return armSignInTimer() }
    passwordsUnderWay.remove(signIn.key)
    if clients[client]?.waiting?.session?.key == signIn.key {
      answer(signIn, withRefusal: error, isOpen: false)
    }
    armSignInTimer()
  }

  /// Ends the sign-in whose client does not wait any more. Its password or answer may have been
  /// wrong: it counts as a refused one, else a program could guess and leave.
  func signInClientLeft(_ client: UInt64, _ key: SessionKey) {
    guard let signIn = signIns[key] else { return }
    signIn.onlookers.removeAll { $0.client == client }
    guard signIn.client == client else { return }
    signIn.client = nil
    signIn.waitEnds = nil
    // It has answered nothing. The user may be typing the code.
    if signIn.conversation.isElsewhere { return clientLeftElsewhere(signIn) }
    recordJudgement(signIn, isRefusal: true)
    recordRefusal(of: signIn, ProtocolError(.signInFailed, "its client has left"))
    end(signIn, .unknownChallenge)
  }

  /// Ends sign-ins that a reload has changed or closed, also where another one opens them again.
  func endSignIns(changedFrom previous: [String: Profile]) {
    for signIn in signIns.all {
      let name = signIn.key.profile
      guard let former = previous[name], let present = configuration.profiles[name] else {
        end(signIn, Self.removed(name))
        continue
      }
      if !former.signsIn(like: present) {
        end(
          signIn,
          ProtocolError(.signInFailed, "a reload has changed how profile '\(name)' signs in"))
      } else if former.access != present.access, !present.access.allows(signIn.caller) {
        end(signIn, Self.noLongerForYou(name))
      }
    }
  }

  /// What is known of a client, for a rule that a reload may bring.
  func caller(_ client: Client, of session: Session) -> Caller {
    var caller = Caller(
      uid: session.key.uid, groups: client.groups(), userName: session.userName,
      unit: client.unit(), isUnmapped: session.key.uid == host.process.overflowUID)
    if case .executable(let program) = client.executable?.answer { caller.executable = program }
    return caller
  }

  /// At the end of the daemon: nobody waits any more.
  func endAllSignIns() {
    for signIn in signIns.all {
      signIn.client = nil
      end(signIn, .unknownChallenge)
    }
  }

  /// The open sign-ins. While there is one, the daemon is in use.
  package var openSignIns: Int { signIns.all.count }

  func armSignInTimer() {
    let next = signIns.nextWake
    signInTimer?.arm(at: next == .distantFuture ? nil : next)
  }

  /// Ends questions that were not answered in time and steps that take too long, and goes on with
  /// those that wait elsewhere.
  func expireSignIns() {
    let now = host.clock.now
    for signIn in signIns.all {
      if signIn.deadline.map({ $0 <= now }) ?? false {
        end(signIn, .unknownChallenge)
      } else if signIn.client != nil, signIn.answerDue <= now {
        stepIsLate(signIn, now)
      } else if let later = signIn.later, later.at <= now {
        signIn.later = nil
        send(later.request, signIn, now)
      } else {
        goOn(signIn, now)
      }
      endStepWaits(of: signIn, now)
    }
    armSignInTimer()
  }

  /// An answer that counts once may have counted. Without the device the user is signed in all the
  /// same.
  private func stepIsLate(_ signIn: OpenSignIn, _ now: Instant) {
    guard let action = signIn.conversation.withoutConfirmation() else {
      return end(signIn, Self.stepTookTooLong)
    }
    if let call = signIn.call.take() { host.upstream.cancel(call) }
    perform(action, signIn, now)
  }

  private static let stepTookTooLong = ProtocolError(
    .timeout, "the user pool took too long: sign in again", retryAfter: .seconds(1))
}

extension Profile {
  /// Whether an open challenge of one may be answered in the other.
  fileprivate func signsIn(like other: Profile) -> Bool {
    identityFingerprint == other.identityFingerprint
      && backendFingerprint == other.backendFingerprint && backend?.name == other.backend?.name
      && backend?.signInSettings == other.backend?.signInSettings && link == other.link
  }
}

extension BackendSettings {
  /// What a sign-in depends on: not what is done with accounts, nor how often calls are made.
  fileprivate var signInSettings: Kind {
    guard case .userPool(var settings) = kind else { return kind }
    settings.accountActions = []
    return .userPool(settings)
  }
}
