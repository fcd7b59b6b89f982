import CredCore

/// Ends open sign-ins: because of time, their client, a reload, or another sign-in.
extension SignIns {
  /// Ends the open sign-in of a session, if there is one. Its calls then change nothing, and tokens
  /// that they still bring are revoked.
  func end(of key: SessionKey, _ error: ProtocolError) {
    if let signIn = book[key] { end(signIn, error) }
  }

  /// - Parameter error: the answer to the client that waits.
  func end(_ signIn: OpenSignIn, _ error: ProtocolError) {
    book.remove(signIn)
    if let call = signIn.call {
      signIn.step = .none
      // The call that was sent goes on: tokens that it brings are to be revoked.
      _ = host.upstream.withdraw(call)
      if signIn.messages.mayBeSent { countMessage(of: signIn) }
    }
    countUnjudged(signIn)
    revokeUnclaimed(of: signIn)
    if let waiter = signIn.waiter {
      guesses.ended(in: signIn.key)
      if clients[waiter.client]?.waiting?.session?.key == signIn.key {
        answer(signIn, withRefusal: error, isOpen: false)
      }
    }
    armTimer()
    stepTaken(signIn)
  }

  /// Ends a sign-in after its client has left. The client's password or answer may have been wrong.
  /// It counts as refused, because otherwise a program could guess and disconnect.
  func clientLeft(_ client: UInt64, _ key: SessionKey) {
    guard let signIn = book[key] else { return }
    signIn.onlookers.removeAll { $0.client == client }
    guard signIn.waiter?.client == client else { return }
    signIn.waiter = nil
    // The client has answered nothing, and the user may be typing the code.
    if signIn.conversation.isElsewhere { return clientLeftElsewhere(signIn) }
    recordJudgement(signIn, isRefusal: true)
    recordRefusal(of: signIn, ProtocolError(.signInFailed, "its client has left"))
    end(signIn, .unknownChallenge)
  }

  /// Ends sign-ins if a reload has changed or closed their profile, even if a later reload opens it
  /// again.
  func end(changedFrom previous: [String: Profile], to present: [String: Profile]) {
    for signIn in book.all {
      let name = signIn.key.profile
      guard let former = previous[name], let present = present[name] else {
        end(signIn, Admittance.removed(name))
        continue
      }
      if !former.signsIn(like: present) {
        end(
          signIn,
          ProtocolError(.signInFailed, "a reload has changed how profile '\(name)' signs in"))
      } else if former.access != present.access, !present.access.allows(signIn.origin.caller) {
        end(signIn, Admittance.noLongerForYou(name))
      }
    }
  }

  /// Ends all sign-ins at the end of the daemon, when no client waits any more.
  func endAll() {
    for signIn in book.all {
      signIn.waiter = nil
      end(signIn, .unknownChallenge)
    }
    guesses.endAll()
  }

  /// Ends questions that were not answered in time and steps that take too long. Goes on with
  /// sign-ins if their users act elsewhere.
  func expire() {
    let now = host.clock.now
    for signIn in book.all {
      if signIn.deadline.map({ $0 <= now }) ?? false {
        end(signIn, .unknownChallenge)
      } else if let waiter = signIn.waiter, waiter.answerDue <= now {
        stepIsLate(signIn, now)
      } else if case .later(let request, let at) = signIn.step, at <= now {
        signIn.step = .none
        send(request, signIn)
      } else {
        goOn(signIn, now)
      }
      endStepWaits(of: signIn, now)
    }
    armTimer()
  }

  /// The pool may have used the answer already. If only the confirmation of a device is late, the
  /// user is signed in without it.
  private func stepIsLate(_ signIn: OpenSignIn, _ now: Instant) {
    guard let action = signIn.conversation.withoutConfirmation() else {
      return end(signIn, Self.stepTookTooLong)
    }
    if let call = signIn.call {
      signIn.step = .none
      host.upstream.cancel(call)
    }
    perform(action, signIn, now)
  }

  private static let stepTookTooLong = ProtocolError(
    .timeout, "the user pool took too long: sign in again", retryAfter: .seconds(1))
}

/// The records of how sign-ins end, for the journal and the metrics.
extension SignIns {
  func record(_ asker: SignInAsker, _ session: Session, _ error: ProtocolError?) {
    figures.signedIn(
      session.key.profile, by: asker.means, error?.code.rawValue ?? Figures.success)
    journal.signInEnded(asker, session, error)
  }

  /// Records how a sign-in of a session has ended.
  ///
  /// - Parameter error: nil if its user is signed in.
  func recordEnd(of number: UInt64, _ session: Session, _ error: ProtocolError?) {
    guard let asker = session.asking.signIns.removeValue(forKey: number) else { return }
    record(asker, session, error)
  }

  /// The session is about to be removed with the sign-ins that it carries out.
  func sessionEnding(_ session: Session) {
    let error = ProtocolError(.signInFailed, "the session has ended; sign in again")
    for number in session.asking.signIns.keys.sorted() {
      recordEnd(of: number, session, session.machine.hasAccepted(number) ? nil : error)
    }
    end(of: session.key, error)
  }

  /// The daemon is about to end. Accepted sign-ins outlive it; the others may still be accepted.
  func recordAccepted() {
    let asked = sessions.byKey.values.filter { !$0.asking.signIns.isEmpty }
    for session in asked.sorted(by: { $0.key < $1.key }) {
      for number in session.asking.signIns.keys.sorted()
      where session.machine.hasAccepted(number) {
        recordEnd(of: number, session, nil)
      }
    }
  }

  /// Records a refusal of a sign-in at a pool or a provider.
  func recordRefusal(of signIn: OpenSignIn, _ error: ProtocolError) {
    // An invalid request, such as an answer for another sign-in, has tried no secret.
    guard error.code != .invalidRequest, let session = sessions[signIn.key] else { return }
    record(signIn.asker, session, error)
  }
}

extension Profile {
  /// Whether an open challenge of this profile may be answered in the other one.
  fileprivate func signsIn(like other: Profile) -> Bool {
    identityFingerprint == other.identityFingerprint
      && backendFingerprint == other.backendFingerprint && backend?.name == other.backend?.name
      && backend?.signsIn(like: other.backend) ?? (other.backend == nil) && link == other.link
  }
}
