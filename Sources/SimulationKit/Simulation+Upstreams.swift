import CredCore

/// What Cognito, STS and the backends answer: they know whose each token is, and when it ends.
extension Simulation {
  func tokenFile(of session: SimulatedSession) -> UpstreamOutcome {
    .fileToken(session.person(.logins).sealed(until: now + .seconds(3000)))
  }

  mutating func outcome(of call: SimulatedCall, at index: Int) -> UpstreamOutcome {
    // Whether the call got through at all.
    switch endpoints[index].weather {
    case .failing(let failure): return .failed(failure)
    case .moody(let failures, let probability):
      if dice.happens(probability) { return .failed(dice.pick(failures)) }
    case .slow where dice.happens(0.1):
      return .failed(.transport(.timeout, from: endpoints[index].upstream))
    case .fair, .slow, .shortLived: break
    }
    return answer(to: call, at: index)
  }

  private mutating func answer(to call: SimulatedCall, at index: Int) -> UpstreamOutcome {
    let session = sessions[call.session]
    let host = Person(session: call.session, generation: call.generation, .host)
    switch call.call {
    case .readTokenFile: return tokenFile(of: session)
    case .signIn(let name, let password):
      let isRight = password.bytes == Array("right".utf8)
      guard isRight else { return .failed(.wrongPassword(from: endpoints[index].upstream)) }
      let person = Person(
        session: call.session, generation: call.generation, name == "alice" ? .alice : .bob)
      let token = person.sealed(until: .distantFuture)
      return .signedIn(BackendSession(token: token, developerUserIdentifier: name))
    case .tokenCallback(_, _, let known):
      guard let known else { return token(of: host, index) }
      guard let person = Person.unsealed(known.token)?.person else {
        return .failed(.wrongPassword(from: endpoints[index].upstream))
      }
      return token(of: person, index)
    case .getID(let logins):
      return .identity(person(of: logins, call).identity)
    case .getOpenIDToken(_, let logins):
      return token(of: person(of: logins, call), index, isCognitos: true)
    case .getCredentials(let identity, let logins, _):
      guard let login = logins.logins.first else {
        return credentials(of: person(of: logins, call), session.lifetime, index)
      }
      return exchange(login.token, identity, session, index)
    case .assumeRole(let identity, let token):
      return exchange(token, identity, session, index)
    }
  }

  private func person(of logins: LoginsMap, _ call: SimulatedCall) -> Person {
    let guest = Person(session: call.session, generation: call.generation, .guest)
    return logins.logins.first.flatMap { Person.unsealed($0.token)?.person } ?? guest
  }

  /// - Parameter isCognitos: Cognito's own replies always have a `Date`.
  private mutating func token(
    of person: Person, _ index: Int, isCognitos: Bool = false
  ) -> UpstreamOutcome {
    let lifetime = lifetime(dice.pick([60, 600, 900, 900, 900, 86_400]), index)
    let end = now + .seconds(1) * lifetime
    guard let token = try? DeveloperToken(person.sealed(until: end)) else {
      preconditionFailure("a sealed token is no token")
    }
    var known: Duration? = .seconds(1) * lifetime
    if !isCognitos {
      switch dice.index(10) {
      case 0: known = nil
      // No `Date`: counted by this host's clock.
      case 1..<4: known = .seconds(1) * lifetime - skew
      default: break
      }
    }
    return .token(identityID: person.identity, token: token, lifetime: known)
  }

  private mutating func exchange(
    _ token: Secret, _ identity: IdentityID, _ session: SimulatedSession, _ index: Int
  ) -> UpstreamOutcome {
    guard let (person, end) = Person.unsealed(token) else {
      return .failed(.cognito(saying: "Invalid login token. Not a Cognito token."))
    }
    guard end > now else {
      return .failed(.cognito(saying: "Invalid login token. Token expired: 1 >= 0"))
    }
    guard Person.of(identity) == person else {
      return .failed(.cognito(saying: "Access to Identity is forbidden."))
    }
    return credentials(of: person, session.lifetime, index)
  }

  private mutating func credentials(
    of person: Person, _ usual: Double, _ index: Int
  ) -> UpstreamOutcome {
    let lifetime = lifetime(usual, index)
    // Stamped by the server a moment before it arrives.
    let end = now + .seconds(1) * (lifetime - 0.1)
    let credentials = Credentials(
      accessKeyID: "ASIA", secretAccessKey: Secret([]), sessionToken: person.sealed(until: end),
      expiration: WallTime(milliseconds: end.nanoseconds / 1_000_000))
    return .credentials(
      credentials, identityID: person.identity, lifetime: .seconds(1) * lifetime)
  }

  private func lifetime(_ usual: Double, _ index: Int) -> Double {
    if case .shortLived(let seconds) = endpoints[index].weather { seconds } else { usual }
  }
}
