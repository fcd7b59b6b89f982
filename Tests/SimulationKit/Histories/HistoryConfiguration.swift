import CredCore
import CredService
import SeededRandom

/// The configuration of a short history, as the simulation knows it beside its text.
struct HistoryConfiguration: Sendable {
  struct Backend: Sendable {
    enum Kind { case post, get, password, exec, cognito, userPool, provider }

    let name: String
    var kind: Kind
    /// Changes when the operator moves the backend to another server.
    var server: String
    /// What a GET has in its URL.
    var namesUID: Bool
    /// Whether users may make accounts there.
    var takesAccounts: Bool
    /// Of a user pool.
    var flow: UserPoolSettings.AuthFlow
    /// `remember_device`.
    var remembers: UserPoolSettings.DeviceMemory
    /// The name of a user pool; it may stay when the pool is asked at another endpoint.
    var poolName: String

    /// Some backends take few calls at once. It follows from the rest, so that seeds mean what they
    /// meant.
    var rate: Int { takesAccounts ? 2 : 50 }
    var width: Int { takesAccounts ? 2 : 16 }

    var url: String { "https://\(server).example.com" }
    /// Of a user pool, in another region. It follows from the rest, as the rate does.
    var replicaURL: String? {
      kind == .userPool && server.utf8.reduce(0) { $0 &+ Int($1) } % 3 != 0
        ? "https://\(server).replica.example.com" : nil
    }
    var command: String { "/usr/lib/\(server)/token" }
  }

  /// Who may use a profile.
  struct Rule: Sendable {
    /// Names, or uids in digits.
    var users: [String] = []
    var groups: [UInt32] = []
    var groupNames: [String] = []
    var units: [String] = []
    /// With digests.
    var programs: [String] = []
    var impersonators: [String] = []

    var hasNoLists: Bool {
      users.isEmpty && groups.isEmpty && groupNames.isEmpty && units.isEmpty
    }
  }

  enum Identifier: String, CaseIterable, Sendable {
    case name = "{user}"
    case uid = "{uid}"
    case both = "{user}.{uid}"
    /// All users of the host are one to the backend.
    case shared = "shared"
  }

  struct Profile: Sendable {
    var name: String
    /// Whether it has its identity from another profile.
    var isDerived = false
    var pool: String
    var backend: Int?
    var identifier: Identifier
    var isBasic: Bool
    var allowsGuests: Bool
    /// The tokens of a user pool that programs get.
    var vended: [String]
    var rule: Rule

    /// Whether its sessions are renewed though nobody asks. It follows from the rest, so that seeds
    /// mean what they meant.
    var keepsSessions: Bool {
      !isDerived && (identifier == .both || identifier == .uid && !isBasic)
    }

    /// Whether a first `get` needs no sign-in by a person.
    func worksUnattended(_ backends: [Backend]) -> Bool {
      backend.map { ![.password, .userPool, .provider].contains(backends[$0].kind) } ?? allowsGuests
    }
  }

  private let isOfPools: Bool
  /// See ``History/capped(_:)``.
  var cappedProfile: Int?
  var backends: [Backend] = []
  var profiles: [Profile] = []
  /// Nil where no profile is derived from another one.
  var derived: Derived?

  static let provider = "login.example.app"
  static let publicProvider = "accounts.example.com"
  static let keysFile = "/etc/credd/keys"
  static let tokenFile = "/etc/credd/host-token"
  static let groups: [UInt32] = [500, 501]
  static let groupNames = ["staff", "ops"]
  static let units = ["web.service", "job.service"]

  /// - Parameters:
  ///   - isOfPools: whether all backends are user pools, or providers.
  ///   - isOfProviders: whether they are providers.
  init(
    _ random: inout SeededGenerator, ofPools isOfPools: Bool,
    ofProviders isOfProviders: Bool = false, derived hasDerived: Bool = false
  ) {
    self.isOfPools = isOfPools
    for (index, name) in ["corp", "lab"].enumerated() {
      backends.append(
        Backend(
          name: name,
          kind: isOfProviders
            ? .provider
            : isOfPools
              ? .userPool : random.pick([.post, .get, .password, .exec, .cognito, .userPool]),
          server: "\(name)-\(index)\(random.pick(["", "a", "bb"]))", namesUID: random.happens(0.5),
          takesAccounts: random.happens(0.5),
          flow: random.pick([.srp, .srp] + UserPoolSettings.AuthFlow.allCases),
          remembers: random.pick([.yes, .yes, .ask, .no]), poolName: name))
    }
    for index in 0..<3 {
      var profile = Self.profile("p\(index)", pool: index, &random)
      if isOfPools, random.happens(0.85) {
        profile.backend = index % 2
        profile.rule = Rule()
      }
      profiles.append(profile)
    }
    if hasDerived { derived = Derived(kind: random.pick(Derived.Kind.allCases)) }
  }

  /// Whether the fault can matter: only a sign-in with a password gives what must stay with its
  /// server.
  func canShow(_ fault: InjectedFault) -> Bool {
    guard fault == .wrongServers else { return true }
    return profiles.contains { profile in
      profile.rule.hasNoLists && profile.rule.programs.isEmpty
        && profile.backend.map { backends[$0].kind == .password } ?? false
    }
  }

  private static func profile(
    _ name: String, pool: Int, _ random: inout SeededGenerator
  ) -> Profile {
    Profile(
      name: name, pool: Self.pool(pool), backend: random.pick([0, 0, 1, 1, nil]),
      identifier: random.pick([.name, .name, .uid, .uid, .both, .shared]),
      isBasic: random.happens(0.25), allowsGuests: random.happens(0.2),
      vended: random.pick([[], ["id"], ["id", "access", "account"]]), rule: rule(&random))
  }

  private static func rule(_ random: inout SeededGenerator) -> Rule {
    var rule = Rule()
    if random.happens(0.2) { rule.programs = random.pick(HistoryProgram.rules) }
    switch random.index(7) {
    case 0, 1: break
    case 2: rule.users = [HistoryPeople.name(random.index(4)), "1001"]
    case 3: rule.groups = [random.pick(groups)]
    case 4: rule.units = [random.pick(units)]
    case 5: rule.groupNames = [random.pick(groupNames)]
    default:
      rule.users = ["1000", "1001", "1002"]
      rule.impersonators = [random.pick(["1002", HistoryPeople.name(2)])]
    }
    return rule
  }

  static func pool(_ number: Int) -> String {
    "us-east-1:11111111-2222-3333-4444-55555555555\(number)"
  }

  /// What an operator makes of it next.
  func changed(_ random: inout SeededGenerator) -> HistoryConfiguration {
    var next = self
    if let derived, random.happens(0.4) {
      next.derived =
        random.happens(0.7)
        ? Derived(kind: derived.kind, version: derived.version + 1)
        : Derived(kind: random.pick(Derived.Kind.allCases))
      return next
    }
    let index = random.index(profiles.count)
    switch random.index(6) {
    case 0 where profiles.count > 1: next.profiles.remove(at: index)
    case 1:
      guard let backend = profiles[index].backend else { return next }
      next.backends[backend].server = "moved-\(random.index(1000))"
      if random.happens(0.5) { next.backends[backend].poolName = "moved\(random.index(1000))" }
    case 2: next.profiles[index].identifier = random.pick(Identifier.allCases)
    case 3 where !isOfPools || random.happens(0.3):
      next.profiles[index].pool = Self.pool(3 + random.index(6))
    case 3..<5 where isOfPools: next.profiles[index].isBasic.toggle()
    default: next.profiles[index].rule = Self.rule(&random)
    }
    return next
  }

  func profile(_ name: String) -> Profile? {
    name == Derived.name ? derivedProfile : profiles.first { $0.name == name }
  }

  /// The user pool of a profile.
  func userPool(of profile: String) -> Backend? { backend(of: profile, .userPool) }

  /// Its provider of OpenID Connect.
  func provider(of profile: String) -> Backend? { backend(of: profile, .provider) }

  private func backend(of profile: String, _ kind: Backend.Kind) -> Backend? {
    guard let backend = self.profile(profile)?.backend, backends[backend].kind == kind else {
      return nil
    }
    return backends[backend]
  }

  /// Whether a session of the profile lives on when this configuration takes the place of another.
  func keeps(_ name: String, of former: HistoryConfiguration) -> Bool {
    guard let now = profile(name), let before = former.profile(name), now.rule.hasNoLists,
      !now.isDerived || derived == former.derived
    else { return false }
    return section(of: now) == former.section(of: before)
      && now.backend.map { section(of: backends[$0]) }
        == before.backend.map { former.section(of: former.backends[$0]) }
  }

  // MARK: Text

  /// The groups that it has by their names.
  var namedGroups: Set<String> { Set(profiles.flatMap(\.rule.groupNames)) }

  func resolved(
    _ database: HistoryDatabase, _ fault: InjectedFault?
  ) -> ResolvedConfiguration {
    let text = fault == .forgottenKey ? text.replacing("keep_warm = yes\n", with: "") : text
    let source = ConfigurationSource(name: "credd.conf", bytes: Array(text.utf8))
    let reading = Configuration.read(
      [source],
      policyFile: { [derived] _ in .success(Array((derived?.file ?? "").utf8)) },
      environment: { _ in nil })
    guard let configuration = reading.configuration else {
      preconditionFailure("\(reading.diagnostics.map { "\($0)" })\n\(text)")
    }
    return ResolvedConfiguration(configuration, group: database.group)
  }

  var text: String {
    "[daemon]\n" + backends.map(section).joined() + profiles.map(section).joined()
      + (derivedProfile == nil ? "" : derived?.text ?? "") + capSection
  }

  private func section(of backend: Backend) -> String {
    var text = "[backend \(backend.name)]\n"
    text += "rate_limit = \(backend.rate)/s\nmax_parallel = \(backend.width)\n"
    switch backend.kind {
    case .post, .password:
      text += "type = http\nurl = \(backend.url)/token\nbearer_token_file = \(Self.tokenFile)\n"
      text += "header.X-Key = \(HistorySecret.header)\n"
    case .get:
      text += "type = http\nmethod = GET\n"
      text += "url = \(backend.url)/token/\(backend.namesUID ? "{uid}" : "{user}")\n"
    case .exec:
      text += "type = exec\ncommand = \(backend.command)\n"
      text += "environment.KEY = \(HistorySecret.environment)\n"
    case .cognito: text += "type = cognito\ncredentials_file = \(Self.keysFile)\n"
    case .userPool:
      text += "type = user-pool\nuser_pool_id = us-east-1_\(backend.poolName)\n"
      text += "client_id = \(HistoryUserPools.client)\(backend.poolName)\n"
      text += "user_pool_endpoint = \(backend.url)\nauth_flow = \(backend.flow.rawValue)\n"
      text += "remember_device = \(backend.remembers.rawValue)\n"
      if let replica = backend.replicaURL { text += "replica_endpoint = \(replica)\n" }
      let more = backend.takesAccounts ? " sign-up confirm" : ""
      text += "account_actions = get change-password\(more)\n"
    case .provider:
      text += "type = oidc\nissuer = \(HistoryUserPools.issuer(of: backend.server))\n"
      text += "client_id = \(HistoryUserPools.client)\(backend.poolName)\n"
      text += "redirect_uri = http://127.0.0.1/\nsign_in = browser device\n"
    }
    if backend.kind == .password {
      text += "login_url = \(backend.url)/login\nlogout_url = \(backend.url)/logout\n"
    }
    if backend.takesAccounts, backend.kind == .post || backend.kind == .password {
      text += "register_url = \(backend.url)/register\n"
    }
    return text
  }

  private func section(of profile: Profile) -> String {
    var text = "[profile \(profile.name)]\nidentity_pool_id = \(profile.pool)\n"
    if let backend = profile.backend, [.userPool, .provider].contains(backends[backend].kind) {
      text += "backend = \(backends[backend].name)\n"
      if !profile.vended.isEmpty {
        text += "vend_tokens = \(profile.vended.joined(separator: " "))\n"
      }
    } else if let backend = profile.backend {
      text += "developer_provider = \(Self.provider)\nbackend = \(backends[backend].name)\n"
      text += "user_identifier = \(profile.identifier.rawValue)\n"
    }
    if profile.isBasic { text += "flow = basic\nrole_arn = arn:aws:iam::123456789012:role/app\n" }
    if profile.allowsGuests { text += "guest = yes\n" }
    if profile.keepsSessions { text += "keep_warm = yes\n" }
    let rule = profile.rule
    for (key, list) in [
      ("allow_users", rule.users),
      ("allow_groups", rule.groups.map { "\($0)" } + rule.groupNames),
      ("allow_units", rule.units), ("allow_executables", rule.programs),
      ("impersonate", rule.impersonators),
    ] where !list.isEmpty {
      text += "\(key) = \(list.joined(separator: " "))\n"
    }
    return text
  }
}
