import CredCore
import CredService

/// The configuration of a short history, as the simulation knows it beside its text.
struct HistoryConfiguration: Sendable {
  struct Backend: Sendable {
    enum Kind: CaseIterable { case post, get, password, exec, cognito }

    let name: String
    var kind: Kind
    /// Changes when the operator moves the backend to another server.
    var server: String
    /// What a GET has in its URL.
    var namesUID: Bool
    /// Whether users may make accounts there.
    var takesAccounts: Bool

    var url: String { "https://\(server).example.com" }
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
    let name: String
    var pool: String
    var backend: Int?
    var identifier: Identifier
    var isBasic: Bool
    var allowsGuests: Bool
    var rule: Rule

    /// Whether a first `get` needs no sign-in by a person.
    func worksUnattended(_ backends: [Backend]) -> Bool {
      backend.map { backends[$0].kind != .password } ?? allowsGuests
    }
  }

  var backends: [Backend] = []
  var profiles: [Profile] = []

  static let provider = "login.example.app"
  static let keysFile = "/etc/credd/keys"
  static let tokenFile = "/etc/credd/host-token"
  static let groups: [UInt32] = [500, 501]
  static let groupNames = ["staff", "ops"]
  static let units = ["web.service", "job.service"]

  init(_ random: inout SeededGenerator) {
    for (index, name) in ["corp", "lab"].enumerated() {
      backends.append(
        Backend(
          name: name, kind: random.pick(Backend.Kind.allCases), server: "\(name)-\(index)",
          namesUID: random.happens(0.5), takesAccounts: random.happens(0.5)))
    }
    for index in 0..<3 {
      profiles.append(Self.profile("p\(index)", pool: index, &random))
    }
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
      isBasic: random.happens(0.25), allowsGuests: random.happens(0.2), rule: rule(&random))
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
    let index = random.index(profiles.count)
    switch random.index(6) {
    case 0 where profiles.count > 1: next.profiles.remove(at: index)
    case 1:
      guard let backend = profiles[index].backend else { return next }
      next.backends[backend].server = "moved-\(random.index(1000))"
    case 2: next.profiles[index].identifier = random.pick(Identifier.allCases)
    case 3: next.profiles[index].pool = Self.pool(3 + random.index(6))
    default: next.profiles[index].rule = Self.rule(&random)
    }
    return next
  }

  func profile(_ name: String) -> Profile? { profiles.first { $0.name == name } }

  // MARK: Text

  /// The groups that it has by their names.
  var namedGroups: Set<String> { Set(profiles.flatMap(\.rule.groupNames)) }

  func resolved(_ database: HistoryDatabase) -> ResolvedConfiguration {
    let source = ConfigurationSource(name: "credd.conf", bytes: Array(text.utf8))
    let reading = Configuration.read([source]) { _ in nil }
    guard let configuration = reading.configuration else {
      preconditionFailure("\(reading.diagnostics.map { "\($0)" })\n\(text)")
    }
    return ResolvedConfiguration(configuration, group: database.group)
  }

  var text: String {
    "[daemon]\n" + backends.map(section).joined() + profiles.map(section).joined()
  }

  private func section(of backend: Backend) -> String {
    var text = "[backend \(backend.name)]\n"
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
    if let backend = profile.backend {
      text += "developer_provider = \(Self.provider)\nbackend = \(backends[backend].name)\n"
      text += "user_identifier = \(profile.identifier.rawValue)\n"
    }
    if profile.isBasic { text += "flow = basic\nrole_arn = arn:aws:iam::123456789012:role/app\n" }
    if profile.allowsGuests { text += "guest = yes\n" }
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
