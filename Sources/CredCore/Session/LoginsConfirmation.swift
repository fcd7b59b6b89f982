/// What a user confirms before logins that a client brings go to Cognito.
///
/// A logins map names one person: Cognito links all that is in it to one identity, for good. Where it
/// would get another subject of a provider that is held, the user is asked first, as at a sign-in by
/// browser.
public struct LoginsConfirmation: Sendable, Equatable {
  /// One for each of these providers. Never empty.
  private var questions: [SignInChallenge]
  public let deadline: Instant

  /// Nil where there is nothing to confirm.
  init?(_ steps: [SignInStep], now: Instant) {
    guard !steps.isEmpty else { return nil }
    questions = steps.map { SignInChallenge($0, name: "CONFIRM") }
    deadline = now + Limits.Challenge.answerTime
  }

  public var challenge: SignInChallenge { questions[0] }

  /// What is to be confirmed after this answer; nil if nothing is left.
  ///
  /// - Throws: if the answer does not fit.
  public func next(after answers: ChallengeAnswers) throws(ProtocolError) -> LoginsConfirmation? {
    try answers.check(fit: challenge.step)
    try answers.checkConsent()
    guard questions.count > 1 else { return nil }
    var next = self
    next.questions.removeFirst()
    return next
  }
}

extension ChallengeAnswers {
  /// Throws unless the user has said yes.
  func checkConsent() throws(ProtocolError) {
    guard self["confirm"] == Secret("true") else {
      throw .invalid("\"confirm\" must be true; \"cancel\" ends the sign-in")
    }
  }
}

extension SessionMachine {
  /// What the user has to confirm before a sign-in; nil for nothing.
  public func confirmation(of input: SignInInput, now: Instant) -> LoginsConfirmation? {
    guard case .logins(let added, let claimed, false) = input,
      let identity = claimed ?? held.identityID
    else { return nil }
    let replaced = held.replacedLogins(added, plan)
    let steps = added.logins.compactMap { login -> SignInStep? in
      guard case .another(let person)? = replaced[login.provider] else { return nil }
      return .confirm(
        issuer: person.issuer ?? login.provider, subject: person.subject,
        username: person.username, replaces: nil, linksTo: identity.description)
    }
    return LoginsConfirmation(steps, now: now)
  }
}

/// A login that takes the place of one of the same provider, beside others.
enum ReplacedLogin: Equatable {
  /// Both tokens name the same subject.
  case samePerson
  /// They name two.
  case another(Person)
  /// One of them has no subject that can be read, as those of Facebook and Amazon and assertions of
  /// SAML. Cognito alone knows whose it is.
  case unread

  struct Person: Equatable {
    var issuer: String?
    var subject: String
    var username: String?
  }

  init(_ held: Secret, by new: Secret) {
    guard let subject = LoginSubject.subject(of: held), let claims = JWT.claims(of: new),
      let other = LoginSubject.subject(claims)
    else {
      self = .unread
      return
    }
    self =
      subject == other
      ? .samePerson
      : .another(
        Person(
          issuer: claims["iss"]?.text.flatMap { $0.isShowable ? $0 : nil }, subject: other,
          username: IDToken.username(claims)))
  }
}

/// `sub` of a login that is a JWT with one.
enum LoginSubject {
  static func subject(of token: Secret) -> String? { JWT.claims(of: token).flatMap(subject) }

  static func subject(_ claims: JSONValue) -> String? {
    claims["sub"]?.text.flatMap { $0.isShowable ? $0 : nil }
  }
}

extension Held {
  /// Which of the logins that a client brings would replace one of the same provider, and go to Cognito
  /// beside a login that may be the user's own. By provider; the others are new, or alone.
  func replacedLogins(_ added: LoginsMap, _ plan: SessionPlan) -> [String: ReplacedLogin] {
    var next = self
    _ = next.makeReady(forLoginsAlone: false, plan)
    var replaced: [String: ReplacedLogin] = [:]
    for login in added.logins {
      replaced[login.provider] = next.logins[login.provider].map {
        ReplacedLogin($0, by: login.token)
      }
    }
    // Of these nobody knows that they are another person's.
    var familiar = Set((next.logins.logins + added.logins).map(\.provider))
    for (provider, login) in replaced {
      if case .another = login { familiar.remove(provider) }
    }
    let hasOwn = next.state.providerSession != nil
    return replaced.filter { hasOwn || !familiar.subtracting([$0.key]).isEmpty }
  }
}
