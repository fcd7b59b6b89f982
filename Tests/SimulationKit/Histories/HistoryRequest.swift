import CredCore

/// A line of a client, but for what only the run knows: names and tokens.
enum HistoryRequest: Sendable {
  case get(profile: Int, members: String)
  /// - Parameter members: which kind.
  case token(profile: Int, members: String)
  case identity(profile: Int)
  /// - Parameter user: whose credentials are asked for; by name or by uid.
  case impersonate(profile: Int, user: Int, byName: Bool)
  case password(profile: Int, Claim)
  /// - Parameter isKnown: whether the action is one that credd has.
  case account(profile: Int, Claim, isKnown: Bool)
  /// What is done with the account that is signed in.
  case ownAccount(profile: Int, changesPassword: Bool)
  /// - Parameter isGood: whether the answer is right, where its user can know it.
  case respond(ChosenHandle, ChallengeInput, isGood: Bool)
  case developerToken(profile: Int, Claim)
  /// - Parameters:
  ///   - isAlone: not linked to what is there.
  ///   - choosesIdentity: with some IdentityId.
  case logins(profile: Int, LoginProvider, isAlone: Bool, choosesIdentity: Bool)
  /// A login by one of the accounts that a person has at a provider whose tokens can be read.
  case ownLogin(profile: Int, number: Int, isAlone: Bool)
  /// A password, and such a login beside it.
  case passwordWithLogin(profile: Int, Claim, number: Int)
  case hostLogin(profile: Int)
  case logout(profile: Int, isGlobal: Bool)
  case clear(profile: Int, identity: Bool)
  case release(profile: Int)
  case status(members: String)
  case watch(profile: Int?)
  case ping
  case nonsense(Int)
}

/// Which question of a sign-in a client names.
enum ChosenHandle: Sendable, CaseIterable {
  /// The last one that its own user was asked.
  case own
  /// An older one of its own user.
  case former
  /// One of another user.
  case others
  case madeUp
}

enum ChallengeInput: Sendable {
  case answers, wait, cancel
}

/// Whose token a client brings among its logins.
enum LoginProvider: Sendable, CaseIterable {
  case publicOne
  /// That of the pool's own developers, with somebody's name in place of a token.
  case developers
  /// The same, in capitals.
  case developersLoudly
}

/// What somebody claims at a sign-in.
enum Claim: Sendable, CaseIterable {
  case own
  /// One's own, and it is wrong or expired.
  case bad
  /// Another person's name or identity, with proof for nothing but oneself.
  case others
}

extension HistoryRequest {
  var profile: Int? {
    switch self {
    case .get(let profile, _), .token(let profile, _), .identity(let profile),
      .ownAccount(let profile, _),
      .impersonate(let profile, _, _), .password(let profile, _), .developerToken(let profile, _),
      .logins(let profile, _, _, _), .hostLogin(let profile), .logout(let profile, _),
      .ownLogin(let profile, _, _), .passwordWithLogin(let profile, _, _),
      .clear(let profile, _), .release(let profile), .account(let profile, _, _):
      profile
    case .watch(let profile): profile
    case .status, .ping, .nonsense, .respond: nil
    }
  }

  var operation: String {
    switch self {
    case .get, .impersonate: "get"
    case .token: "token"
    case .identity: "identity"
    case .password, .developerToken, .logins, .ownLogin, .passwordWithLogin, .hostLogin: "login"
    case .account, .ownAccount: "account"
    case .respond: "respond"
    case .logout: "logout"
    case .clear: "clear"
    case .release: "release"
    case .status: "status"
    case .ping: "ping"
    case .watch, .nonsense: "watch"
    }
  }

  /// Seconds within which there must be an answer. Look-ups of the caller come first.
  var patience: Double {
    switch self {
    case .get(_, let members): members.contains("40") ? 52 : members.contains("15") ? 27 : 17
    case .token(_, let members): members.contains("20") ? 32 : 17
    case .impersonate: 17
    case .password, .developerToken, .logins, .ownLogin, .passwordWithLogin, .hostLogin: 75
    case .account, .ownAccount, .respond: 75
    case .logout: 75
    default: 12
    }
  }
}
