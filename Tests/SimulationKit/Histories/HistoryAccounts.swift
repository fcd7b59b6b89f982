import CredCore

/// The accounts that people have at a provider whose tokens can be read, and what Cognito has linked them
/// to. A person has several there: another one is linked to an identity only after a word of its user.
struct HistoryAccounts {
  struct Account: Hashable, CustomStringConvertible {
    let person: Int
    let number: Int

    /// How the issuer knows it: `sub`.
    var subject: String { "\(person)-\(number)" }
    /// The key of its identity.
    var key: String { "own account \(subject)" }
    var description: String { "account \(number) of \(HistoryPeople.name(person))" }

    init(person: Int, number: Int) {
      (self.person, self.number) = (person, number)
    }

    init?(subject: String) {
      let parts = subject.split(separator: "-").compactMap { Int($0) }
      guard parts.count == 2 else { return nil }
      self.init(person: parts[0], number: parts[1])
    }
  }

  /// A session, as far as accounts are linked in it.
  private struct Place: Hashable {
    let user: Int
    let pool: String
  }

  /// An account that Cognito has linked.
  private struct Link {
    let account: Account
    let at: Instant
  }

  static let provider = "id.example.com"
  static let perPerson = 3

  /// By the numbers of their tokens.
  private var tokens: [Int: Account] = [:]
  private var links: [String: [Link]] = [:]
  /// The accounts to whose links their users have said yes.
  private var agreed: Set<Account> = []
  /// When something last ended that may end what a session knows of its accounts.
  private var ended: [Place: Instant] = [:]
  /// The lines under way that may end it.
  private var ending: [Place: Set<Int>] = [:]
  private var allEnded = World.beginning
  /// Whether each session has a pool of its own: what one knows of an identity, another one does not.
  var arePoolsApart = true

  /// The account of a token; nil for another token.
  subscript(token number: Int) -> Account? { tokens[number] }

  mutating func gave(_ number: Int, of account: Account) { tokens[number] = account }

  func isNew(_ account: Account, to identity: String) -> Bool {
    !links[identity, default: []].contains { $0.account == account }
  }

  mutating func agreed(to account: Account) { agreed.insert(account) }

  /// Cognito links an account to an identity, beside others of it.
  ///
  /// - Returns: the account of the same person that the identity had, if the session knew of it and nobody
  ///   has agreed.
  mutating func linked(
    _ account: Account, to identity: String, in pool: String, of user: Int, at now: Instant
  ) -> Account? {
    defer { links[identity, default: []].append(Link(account: account, at: now)) }
    let place = Place(user: user, pool: pool)
    guard arePoolsApart, !agreed.contains(account), ending[place, default: []].isEmpty else {
      return nil
    }
    let since = max(allEnded, ended[place] ?? allEnded)
    return links[identity]?.first { $0.account.person == account.person && $0.at > since }?.account
  }

  // MARK: What ends the knowledge of a session

  mutating func beginsToEnd(_ line: Int, _ user: Int, _ pool: String) {
    ending[Place(user: user, pool: pool), default: []].insert(line)
  }

  mutating func ends(_ line: Int, _ user: Int, _ pool: String, at now: Instant) {
    ending[Place(user: user, pool: pool)]?.remove(line)
    ended[Place(user: user, pool: pool)] = now
  }

  /// - Parameter isRestart: nothing goes on that was under way.
  mutating func endAll(at now: Instant, isRestart: Bool = false) {
    allEnded = now
    if isRestart { ending = [:] }
  }
}

// MARK: - Tokens and links

extension HistoryUpstreams {
  /// A token for an account of a person's own. Its subject can be read.
  func accountToken(_ account: HistoryAccounts.Account, isAlone: Bool) -> String {
    let number = add(
      Token(
        persons: [account.person], identity: account.key, pool: "", server: nil,
        ends: world.later(3000)))
    accounts.gave(number, of: account)
    if isAlone { standsAlone(number) }
    return HistorySecret.token(
      number, expires: world.trueTime + .seconds(3000),
      claims: #","iss":"https://\#(HistoryAccounts.provider)","sub":"\#(account.subject)""#)
  }

  /// The accounts whose tokens are in a logins map.
  func accounts(in logins: JSONValue?) -> [HistoryAccounts.Account] {
    guard case .object(let members) = logins else { return [] }
    return members.compactMap { $0.value.text.flatMap(sent)?.number }
      .compactMap { accounts[token: $0] }
  }

  /// Cognito takes logins together only if they are of one identity, or of none yet.
  ///
  /// - Parameters:
  ///   - logins: all of the request, of which one at least is an account's.
  ///   - asked: the identity that the request names; nil where Cognito is to say it.
  /// - Returns: the refusal; nil if all are of one identity now.
  func join(_ logins: JSONValue?, in pool: String, asked: String?) -> HTTPReply? {
    guard case .object(let members) = logins else { return nil }
    let tokens = members.compactMap { $0.value.text.flatMap(sent)?.token }
    let keys = tokens.map { "\(pool) \($0.identity)" }
    let present = Set(keys.compactMap { known[$0] })
    guard present.isSubset(of: [asked ?? present.first ?? ""]) else {
      return .cognito("Logins belong to two identities.", "ResourceConflictException")
    }
    guard asked == nil || !present.isEmpty else { return nil }
    let identity = asked ?? present.first ?? newIdentity(pool, isGuest: false, persons: [])
    for key in keys where known[key] == nil { setIdentity(identity, of: key) }
    for account in accounts(in: logins) {
      judgeLink(account, identity, pool)
      guard world.fault == .addedAccounts else { continue }
      let next = (account.number + 1) % HistoryAccounts.perPerson
      judgeLink(.init(person: account.person, number: next), identity, pool)
    }
    return nil
  }

  private func judgeLink(_ account: HistoryAccounts.Account, _ identity: String, _ pool: String) {
    guard let user = people.user(of: account.person), accounts.isNew(account, to: identity) else {
      return
    }
    let former = accounts.linked(account, to: identity, in: pool, of: user, at: world.now)
    guard let former, people.possible(user, from: world.now).count == 1 else { return }
    world.violate(
      .neverLinked, "\(account) is linked beside \(former), and nobody has agreed to that")
  }

  /// A backend has Cognito link the accounts beside its own user, whose key is the first.
  ///
  /// - Returns: false if they are of another identity.
  func joinAtBackend(_ logins: JSONValue?, _ user: String, in pool: String) -> Bool {
    let keys = [user] + accounts(in: logins).map { "\(pool) \($0.key)" }
    let present = Set(keys.compactMap { known[$0] })
    guard present.count < 2 else { return false }
    guard keys.count > 1 else { return true }
    let identity = present.first ?? newIdentity(pool, isGuest: false, persons: [])
    for key in keys where known[key] == nil { setIdentity(identity, of: key) }
    return true
  }
}

// MARK: - The run

extension HistoryRequest {
  /// The number of the account that a login brings; nil for none.
  var accountNumber: Int? {
    switch self {
    case .ownLogin(_, let number, _), .passwordWithLogin(_, _, let number): number
    default: nil
    }
  }

  /// Whether it may end what a session knows of its user's accounts.
  fileprivate var mayEndAccounts: Bool {
    switch self {
    case .clear(_, identity: true), .logout, .password, .passwordWithLogin, .respond,
      .developerToken, .hostLogin, .logins, .ownLogin(_, _, isAlone: true):
      true
    default: false
    }
  }
}

extension HistoryRun {
  /// A login of one user, and another one while it is under way.
  func sendBeside(_ client: Int, _ first: HistoryRequest, _ second: HistoryRequest) {
    guard let user = clients[client]?.user else { return }
    let other = client + 50
    connect(other, user, nil)
    send(first, clients[client])
    world.inProcess(after: 0.5 * world.random.fraction()) { [self] in
      send(second, clients[other])
    }
  }

  /// The members of a login by an account.
  func accountMembers(_ person: Int, _ number: Int, isAlone: Bool) -> String {
    let account = HistoryAccounts.Account(person: person, number: number)
    let token = upstreams.accountToken(account, isAlone: isAlone)
    return #","logins":{"\#(HistoryAccounts.provider)":"\#(token)"}"#
      + (isAlone ? #","alone":true"# : "")
  }

  func accountsBegin(_ line: HistoryClient.Line, _ user: Int) {
    guard line.request.mayEndAccounts, let pool = pool(of: line) else { return }
    upstreams.accounts.beginsToEnd(line.number, user, pool)
  }

  func accountsEnd(_ line: HistoryClient.Line, _ user: Int) {
    guard line.request.mayEndAccounts, let pool = pool(of: line) else { return }
    upstreams.accounts.ends(line.number, user, pool, at: world.now)
  }

  private func pool(of line: HistoryClient.Line) -> String? {
    line.profile.flatMap(host.configuration.profile)?.pool
  }

  /// Whoever signs in with an account, or with a password and an account, has one identity after it: the
  /// session's is the account's.
  func judgeAccount(
    _ json: JSONValue, _ line: HistoryClient.Line, _ client: HistoryClient
  ) {
    let callers = people.possible(client.user, from: line.start)
    guard json["State"]?.text == "signedIn", json["Challenge"] == nil, lastReload < line.start,
      callers.count == 1, let person = callers.first?.number, let pool = pool(of: line),
      let account = account(of: line, person), let identity = json["IdentityId"]?.text
    else { return }
    let own = upstreams.known["\(pool) \(account.key)"]
    guard own != identity else { return }
    world.violate(
      .oneIdentity,
      "line \(line.number): the session has \(identity), and \(account) \(own ?? "none")")
  }

  /// The account that a successful line has signed in or linked.
  private func account(of line: HistoryClient.Line, _ person: Int) -> HistoryAccounts.Account? {
    if let number = line.request.accountNumber {
      return HistoryAccounts.Account(person: person, number: number)
    }
    guard case .respond(_, .answers, isGood: true) = line.request else { return nil }
    return line.handle?.account.flatMap { $0.person == person ? $0 : nil }
  }
}
