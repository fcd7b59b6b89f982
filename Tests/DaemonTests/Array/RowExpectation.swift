@testable import DaemonHarness

/// What docs and design promise to a caller of a row, read from its columns alone: a second, simple
/// reading that knows nothing of the daemon's code.
struct RowExpectation {
  /// What a caller must get: credentials of just this origin, or an error of this code.
  enum Answer: Equatable {
    case granted(Grant)
    case refused(String)
  }

  /// What the sandbox has to say of credentials.
  struct Grant: Equatable {
    var pool: String
    var role: String
    /// Provider → the person's names there. Empty for a guest.
    var logins: [String: [String]]
    /// Where STS is asked for the role, how CloudTrail calls the session.
    var sessionName: String?
  }

  /// What proves who a session's user is.
  enum Proof: Equatable {
    case host, password, token, logins, guest, nobody
  }

  static let publicProvider = "graph.facebook.com"

  let row: ArrayRow
  let cast: RowCast

  // MARK: Names

  /// The two halves of `names`: what stands in user_identifier, and in the URL.
  private var identifierKind: Substring { row.names.split(separator: "@")[0] }
  private var urlKind: Substring? { row.names.split(separator: "@").dropFirst().first }

  /// `user_identifier`, and what stands in the URLs, as the configuration has them.
  var identifier: String { template(identifierKind) }
  var urlName: String? { urlKind.map(template) }
  /// `role_session_name`: names the user as the identifier does, else by number.
  var sessionName: String { identifierKind == "fixed" ? "u{uid}" : identifier }

  private func template(_ kind: Substring) -> String {
    switch kind {
    case "user": "{user}"
    case "uid": "u{uid}"
    case "both": "{user}-{uid}"
    default: cast.sharedIdentifier
    }
  }

  private func expanded(_ template: String, _ person: RowCast.Person) -> String {
    template.replacing("{user}", with: person.name).replacing("{uid}", with: "\(person.uid)")
  }

  /// A user without a name cannot use a profile that needs {user}.
  private func needsName(in place: RowCast.Place) -> Bool {
    if asksSTS, place.profile == cast.first.profile, sessionName.contains("{user}") { return true }
    switch row.backend {
    case .http:
      // Where users sign in, or by GET, nobody is told the identifier.
      let sendsIdentifier = row.login != .password && row.method != .get
      return (urlName ?? "").contains("{user}") || sendsIdentifier && identifier.contains("{user}")
    case .exec, .cognito: return identifier.contains("{user}")
    case .sample, .userPool, .none: return false
    }
  }

  /// How a backend that trusts the host knows a user. With GET it is asked by the URL alone.
  func developerUser(_ person: RowCast.Person) -> String {
    expanded(row.method == .get ? urlName ?? identifier : identifier, person)
  }

  /// How the user signs in with a password, or is called in a token that an app has.
  func username(_ person: RowCast.Person, _ place: RowCast.Place) -> String {
    // The URL names the user whose session it must be.
    row.method == .get ? developerUser(person) : "\(person.subject).\(place.profile)"
  }

  /// Whose developer token an app brings: where the host is trusted too, the user's own.
  func tokenUser(_ person: RowCast.Person, _ place: RowCast.Place) -> String {
    isHostTrusted ? developerUser(person) : username(person, place)
  }

  func socialName(_ person: RowCast.Person, _ place: RowCast.Place) -> String {
    "\(place.profile).\(person.subject)"
  }

  // MARK: Sign-in

  /// Whether the first `get` signs in by itself: nothing of the backend wants a password.
  var isHostTrusted: Bool {
    switch row.backend {
    case .http: row.login != .password
    case .exec, .cognito: true
    case .sample, .userPool, .none: false
    }
  }

  /// Whether a profile has no identity pool, and gives its provider's tokens alone.
  func givesTokens(_ place: RowCast.Place) -> Bool {
    row.flow == .tokens && place.profile == cast.first.profile
  }

  /// Whether it has no identity pool: then it gives tokens, or the role that STS gives for them.
  func hasNoPool(_ place: RowCast.Place) -> Bool {
    [.tokens, .direct].contains(row.flow) && place.profile == cast.first.profile
  }

  /// Whether the first profile asks STS for a role.
  var asksSTS: Bool { [.basic, .direct].contains(row.flow) }

  /// Logins that GET cannot send, or that no identity pool takes, are refused by name, and the session
  /// stays what it is.
  func isLoginRefused(in place: RowCast.Place) -> Bool {
    switch row.login {
    case .linked: row.method == .get || hasNoPool(place)
    case .logins: hasNoPool(place)
    case .none, .password, .token: false
    }
  }

  func isGuestAllowed(_ place: RowCast.Place) -> Bool {
    row.isGuestAllowed && place.profile == cast.first.profile
  }

  /// What proves the user where nobody has signed in.
  func proofByItself(_ place: RowCast.Place) -> Proof {
    isHostTrusted ? .host : isGuestAllowed(place) ? .guest : .nobody
  }

  /// What proves the user after the row's login.
  func proofAfterLogin(_ place: RowCast.Place) -> Proof {
    switch row.login {
    case .none: proofByItself(place)
    case .password: .password
    case .token: .token
    case .logins: isLoginRefused(in: place) ? proofByItself(place) : .logins
    case .linked: isHostTrusted ? .host : .password
    }
  }

  /// Whether a person signed in, other than by the host's word.
  var isSignedInByPerson: Bool {
    [.password, .token, .logins].contains(proofAfterLogin(cast.first))
  }

  /// Whether the proof outlives the end of all that it gave: the host and a guest are asked anew, a
  /// password's session, an app's token and a provider's login are used up. A developer token is
  /// replaced by a backend that trusts the host.
  var isProofRenewable: Bool {
    switch proofAfterLogin(cast.first) {
    case .host, .guest: true
    case .token: isHostTrusted
    case .password, .logins, .nobody: false
    }
  }

  /// Whether a backend that knows users by number takes the uid's next person for the former one,
  /// whose login it has linked to the identity: "a name that is given to somebody else later gets
  /// the former person's identity".
  private func isHeir(_ person: RowCast.Person, in place: RowCast.Place) -> Bool {
    person == cast.successor && row.login == .linked && isHostTrusted
      && !isLoginRefused(in: place)
      && developerUser(person) == developerUser(cast.subject)
      && (row.life != .cold || place.profile == cast.second.profile)
  }

  // MARK: Answers

  /// Where guests have a role that the flow can ask for. The configured one is that of users, unless
  /// the row has guests alone.
  private var haveGuestsRole: Bool {
    row.flow == .enhanced || (row.flow == .basic && row.login == .none)
  }

  func answer(
    to person: RowCast.Person, in place: RowCast.Place, proof: Proof, isLinked: Bool = false
  ) -> Answer {
    var logins: [String: [String]] = [:]
    switch proof {
    case .nobody: return .refused("SignInRequired")
    case .guest: guard haveGuestsRole else { return .refused("PoolMisconfigured") }
    case .host: logins[place.provider] = [developerUser(person)]
    case .password:
      let provider = row.backend == .userPool ? cast.userPool.provider : place.provider
      logins[provider] = [username(person, place)]
    case .token: logins[place.provider] = [tokenUser(person, place)]
    case .logins: logins[Self.publicProvider] = [socialName(person, place)]
    }
    var linked = isLinked ? [socialName(person, place)] : []
    if isHeir(person, in: place) { linked.append(socialName(cast.subject, place)) }
    if !linked.isEmpty { logins[Self.publicProvider] = linked.sorted() }
    // A user's own token says who it is, and nothing of pools and roles.
    guard !givesTokens(place) else {
      return .granted(Grant(pool: "", role: "", logins: logins, sessionName: nil))
    }
    let flow = place.profile == cast.first.profile ? row.flow : .enhanced
    let own = proof == .guest ? place.guestRole : place.authenticatedRole
    return .granted(
      Grant(
        pool: flow == .direct ? "" : place.pool,
        role: flow == .custom ? place.customRole : own, logins: logins,
        sessionName: [.basic, .direct].contains(flow) ? expanded(sessionName, person) : nil))
  }

  /// What a person gets who has done the row's login.
  func answerAfterLogin(to person: RowCast.Person, in place: RowCast.Place) -> Answer {
    guard isAdmitted(person, to: place) else { return .refused("AccessDenied") }
    return answer(
      to: person, in: place, proof: proofAfterLogin(place),
      isLinked: row.login == .linked && !isLoginRefused(in: place))
  }

  /// What a person gets who has not.
  func answerByItself(to person: RowCast.Person, in place: RowCast.Place) -> Answer {
    guard isAdmitted(person, to: place) else { return .refused("AccessDenied") }
    return answer(to: person, in: place, proof: proofByItself(place))
  }

  /// Before a right is withdrawn.
  func isAdmitted(_ person: RowCast.Person, to place: RowCast.Place) -> Bool {
    if person == cast.subject, row.caller == .unnamed, needsName(in: place) { return false }
    // The second profile is open to all.
    guard person == cast.outsider, place.profile == cast.first.profile else { return true }
    return row.access == .none
  }

  /// Who acts for others gets what they have, if the profile says so, and if it says so too of what a
  /// person signed in to.
  func answerToActor(isEnoughSaid: Bool) -> Answer? {
    guard row.access == .impersonate, row.life != .withdrawn else {
      return .refused("AccessDenied")
    }
    return isSignedInByPerson && !isEnoughSaid ? .refused("AccessDenied") : nil
  }
}
