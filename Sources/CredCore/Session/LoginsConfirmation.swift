/// What a user confirms before logins that a client brings go to Cognito.
///
/// A logins map names one person: Cognito links all that is in it to one identity, for good, and so does
/// a backend. Where it would get another subject of a provider that is held or linked, the user is asked
/// first, as at a sign-in by browser.
public struct LoginsConfirmation: Sendable, Equatable {
  /// One for each of these providers. Never empty.
  private var questions: [SignInChallenge]
  /// All that is to be confirmed.
  private let steps: [SignInStep]
  public let deadline: Instant

  /// Nil where there is nothing to confirm.
  init?(_ steps: [SignInStep], now: Instant) {
    guard !steps.isEmpty else { return nil }
    self.steps = steps
    questions = steps.map { SignInChallenge($0, name: "CONFIRM") }
    deadline = now + Limits.Challenge.answerTime
  }

  public var challenge: SignInChallenge { questions[0] }

  /// Whether the session would ask the same now.
  public func asksTheSame(as present: LoginsConfirmation?) -> Bool { present?.steps == steps }

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
  ///
  /// A sign-in under way ends as this one begins, so the logins from before it count.
  public func confirmation(of input: SignInInput, now: Instant) -> LoginsConfirmation? {
    guard case .logins(let added, let claimed, false) = input else { return nil }
    let held = formerHeld ?? held
    let outgoing = OutgoingLogins(added, beside: held, plan)
    let identity = (claimed ?? held.identityID)?.description ?? outgoing.user
    let steps = added.logins.compactMap { login -> SignInStep? in
      guard case .another(let person)? = outgoing.judged[login.provider] else { return nil }
      return .confirm(
        issuer: person.issuer ?? login.provider, subject: person.subject,
        username: person.username, replaces: nil, linksTo: identity)
    }
    return LoginsConfirmation(steps, now: now)
  }

  /// How many logins a session holds after a sign-in that brings some.
  public func loginCount(after input: SignInInput, now: Instant) -> Int {
    guard case .logins(let added, _, let isAlone) = input else { return 0 }
    var next = formerHeld ?? held
    _ = next.makeReady(forLoginsAlone: isAlone, plan)
    next.removeExpiredLogins(at: now)
    let kept = next.logins.logins.count {
      added[$0.provider] == nil && $0.provider != plan.tokenFileProvider
    }
    return kept + added.logins.count
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
    /// Nil where the token's issuer is not what Cognito checks it for: the key says that.
    var issuer: String?
    var subject: String
    var username: String?
  }

  /// - Parameter former: the subject of the replaced one; nil if it has none that can be read.
  init(_ former: String?, by new: LoginsMap.Login) {
    guard let former, let claims = JWT.claims(of: new.token),
      let subject = LoginSubject.subject(claims)
    else {
      self = .unread
      return
    }
    guard !former.utf8.elementsEqual(subject.utf8) else {
      self = .samePerson
      return
    }
    let issuer = claims["iss"]?.text.flatMap { $0 == "https://\(new.provider)" ? $0 : nil }
    self = .another(
      Person(
        issuer: issuer.flatMap { $0.isShowable ? $0 : nil }, subject: subject,
        username: IDToken.username(claims)))
  }

  fileprivate var isOfAnother: Bool { if case .another = self { true } else { false } }

  /// Of several the one that needs the most care.
  fileprivate static func gravest(_ replaced: [ReplacedLogin]) -> ReplacedLogin? {
    replaced.first(where: \.isOfAnother)
      ?? (replaced.contains(.unread) ? .unread : replaced.first)
  }
}

/// `sub` of a login that is a JWT with one.
enum LoginSubject {
  static func subject(of token: Secret) -> String? { JWT.claims(of: token).flatMap(subject) }

  static func subject(_ claims: JSONValue) -> String? {
    claims["sub"]?.text.flatMap { $0.isShowable ? $0 : nil }
  }
}

/// The logins that go to Cognito after a sign-in that brings some.
struct OutgoingLogins {
  /// Which of the new ones take the place of one of the same provider, by provider.
  private var replaced: [String: ReplacedLogin] = [:]
  /// Of these providers nobody knows that their login is another person's.
  private var familiar: Set<String>
  /// The key of the session's own provider, whose token goes beside them.
  private let own: String?
  private let count: Int
  private let isLinked: Bool

  init(_ added: LoginsMap, beside held: Held, _ plan: SessionPlan) {
    var next = held
    isLinked = next.makeReady(forLoginsAlone: false, plan)
    for login in added.logins {
      let present = next.logins.logins.filter { $0.isOfSameProvider(as: login) }
        .map { LoginSubject.subject(of: $0.token) }
      let ended = next.endedLogins.subjects(of: login.provider)
      replaced[login.provider] = .gravest((present + ended).map { ReplacedLogin($0, by: login) })
    }
    let all = Set((next.logins.logins + added.logins).map(\.provider))
    count = all.count
    familiar = all
    for (provider, login) in replaced {
      if login.isOfAnother { familiar.remove(provider) }
    }
    own = next.state.providerSession?.issuer.loginsKey
  }

  /// Those that are asked for or go to Cognito by themselves first: something goes beside them that
  /// may be the user's own. A backend links them to the user whom it knows; what nobody here can read is
  /// for the backend to judge.
  var judged: [String: ReplacedLogin] {
    if own != nil { return replaced }
    if isLinked { return replaced.filter { $0.value.isOfAnother } }
    return count > 1 && !familiar.isEmpty ? replaced : [:]
  }

  /// Whether nothing of the session's user goes out any more: the logins begin a new identity.
  var areOfOthers: Bool { own == nil && !isLinked && familiar.isEmpty }

  /// The provider at which the user is known, where no identity is.
  var user: String? { own ?? familiar.min() }
}

extension LoginsMap.Login {
  /// Whether both are of one provider, although their keys may be spelt in two ways.
  fileprivate func isOfSameProvider(as other: LoginsMap.Login) -> Bool {
    if LoginsMap.areSame(provider, other.provider) { return true }
    guard let issuer = JWT.claims(of: token)?["iss"]?.text,
      let otherIssuer = JWT.claims(of: other.token)?["iss"]?.text
    else { return false }
    return PoolIssuers.areSame(issuer, otherIssuer)
  }
}

extension LoginsMap {
  /// Whether two keys are of one provider: host names have no case, and a user pool has two keys.
  static func areSame(_ one: String, _ other: String) -> Bool {
    one.lowercased().utf8.elementsEqual(other.lowercased().utf8)
      || PoolIssuers.areSame("https://\(one)", "https://\(other)")
  }
}
