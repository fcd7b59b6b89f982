/// The tokens and logins of a user, as clients, files and providers bring them.
extension Held {
  mutating func removeTokens() {
    token = nil
    link = nil
    logins = LoginsMap()
    loginExpirations.removeAll()
  }

  /// Adds logins; those of the same providers are replaced.
  ///
  /// - Parameter ends: when they expire, by provider.
  mutating func add(_ added: LoginsMap, endingAt ends: [String: Instant], _ now: Instant) {
    removeExpiredLogins(at: now)
    var next = logins
    for login in added.logins where (try? next.set(login.provider, token: login.token)) == nil {
      // The held and the new logins together are too many: the new ones replace the held ones.
      next = added
      loginExpirations.removeAll()
      break
    }
    logins = next
    for login in added.logins {
      endedLogins.remove(login.provider, identityID)
      loginExpirations.set(login.provider, end: ends[login.provider], now: now)
    }
  }

  /// Removes expired logins: Cognito refuses a request for one of them, even if the others are good
  /// or a backend has linked it. A session that is signed in by logins keeps its last one.
  mutating func removeExpiredLogins(at now: Instant) {
    let kept = state == .signedIn(.logins) || state == .tokensInvalid(.logins) ? 1 : 0
    for provider in loginExpirations.expired(at: now) where logins.logins.count > kept {
      noteEnd(of: provider)
      logins.remove(provider)
      loginExpirations.remove(provider)
    }
  }

  /// Drops all tokens. The identity may come back, so whose the logins were is kept.
  mutating func endTokens() {
    for login in logins.logins { noteEnd(of: login.provider) }
    removeTokens()
  }

  private mutating func noteEnd(of provider: String) {
    guard let identityID = identityID ?? endedLogins.identityID, let token = logins[provider]
    else { return }
    endedLogins.add(provider, subject: LoginSubject.subject(of: token), of: identityID)
  }

  /// A backend has linked the logins that clients brought: whose they were is kept, and they are not sent
  /// again.
  mutating func loginsLinked(to identityID: IdentityID, _ plan: SessionPlan) {
    noteLinks(of: logins, to: identityID, plan)
    dropLoginsOfClients(plan)
  }

  /// Keeps whose logins were linked, if that concerns the identity of this session.
  mutating func noteLinks(of linked: LoginsMap, to identityID: IdentityID, _ plan: SessionPlan) {
    guard self.identityID ?? identityID == identityID else { return }
    for login in linked.logins where login.provider != plan.tokenFileProvider {
      endedLogins.add(
        login.provider, subject: LoginSubject.subject(of: login.token), of: identityID)
    }
  }

  /// Drops the logins that clients brought. Those of the token file stay: they belong to another
  /// program.
  mutating func dropLoginsOfClients(_ plan: SessionPlan) {
    for login in logins.logins where login.provider != plan.tokenFileProvider {
      logins.remove(login.provider)
      loginExpirations.remove(login.provider)
    }
  }
}
