import CredCore

/// The parameters of a simulation. Everything else follows from the seed.
public struct Scenario: Sendable {
  public var seed: UInt64
  public var sessions: Int
  /// Hours of trouble; a calm of a quarter of an hour follows.
  public var hours: Double
  public var fault: InjectedFault?
  /// Whether every step is traced.
  public var isTraced = false

  /// Whether the host's profiles of backends that trust it have `keep_warm`. The worlds of other seeds
  /// are without.
  var keepsWarm: Bool { seed % 2 == 0 }

  public init(seed: UInt64, sessions: Int = 40, hours: Double = 24, fault: InjectedFault? = nil) {
    self.seed = seed
    self.sessions = sessions
    self.hours = hours
    self.fault = fault
  }
}

/// A profile of the simulated host, as the simulation knows it beside its text.
struct SimulatedProfile {
  enum Trust { case host, password, none }

  /// One of ``SimulatedProfile/kinds``.
  let kind: Int
  let name: String
  let trust: Trust
  let isBasic: Bool
  let allowsGuests: Bool
  /// A file with a token signs in by itself.
  let hasTokenFile: Bool
  /// An index in ``SimulatedConfiguration/backends``.
  let backend: Int?
  /// Of the basic flow, in seconds.
  let duration: Int
  /// Its sessions are renewed though nobody asks.
  let isKept: Bool

  var worksUnattended: Bool { trust == .host || hasTokenFile }
}

/// The configuration of a host, as text and as the simulation knows it. Add other keys, backends
/// and profiles here.
struct SimulatedConfiguration {
  struct Backend {
    let name: String
    let type: String
    let rate: Int
    let width: Int

    var url: String { "https://\(name).example.com" }
    var command: String { "/usr/lib/\(name)/token" }
  }

  typealias Kind = (
    trust: SimulatedProfile.Trust, isBasic: Bool, allowsGuests: Bool, hasTokenFile: Bool
  )

  static let kinds: [Kind] = [
    (.host, false, false, false), (.host, true, false, false), (.host, false, true, false),
    (.password, false, false, false), (.password, true, true, false),
    (.none, false, false, false), (.none, false, true, false),
    (.none, false, false, true), (.none, true, false, true),
  ]
  static let pool = "us-east-1:11111111-2222-3333-4444-555555555555"
  static let provider = "accounts.example.com"
  static let keysFile = "/etc/credd/keys"
  private static let types = [
    "corp": "http", "lab": "http", "desk": "exec", "keys": "cognito", "shop": "http",
    "club": "http",
  ]

  private(set) var backends: [Backend] = []
  private var choices: [(backend: Int?, duration: Int)] = []
  private let keepsWarm: Bool

  init(_ random: inout SeededGenerator, keepsWarm: Bool) {
    self.keepsWarm = keepsWarm
    var names = ["shop", "club"]
    for _ in 0..<3 { names.append(random.pick(["corp", "lab", "desk", "keys"])) }
    for kind in Self.kinds {
      let name =
        switch kind.trust {
        case .host: names[2 + choices.count]
        case .password: names[choices.count - 3]
        case .none: ""
        }
      let duration = random.pick([900, 1800, 3600, 3600, 43_200])
      choices.append((backend(named: name, &random), duration))
    }
  }

  private mutating func backend(named name: String, _ random: inout SeededGenerator) -> Int? {
    guard let type = Self.types[name] else { return nil }
    if let known = backends.firstIndex(where: { $0.name == name }) { return known }
    backends.append(
      Backend(
        name: name, type: type, rate: random.pick([1, 5, 20, 50]),
        width: random.pick([1, 2, 4, 16])))
    return backends.count - 1
  }

  /// The profile of a session. A token file belongs to a profile, so each such session has its own.
  func profile(ofSession index: Int) -> SimulatedProfile {
    let number = index % Self.kinds.count
    let kind = Self.kinds[number]
    return SimulatedProfile(
      kind: number, name: kind.hasTokenFile ? "p\(number)-\(index)" : "p\(number)",
      trust: kind.trust, isBasic: kind.isBasic, allowsGuests: kind.allowsGuests,
      hasTokenFile: kind.hasTokenFile, backend: choices[number].backend,
      duration: choices[number].duration, isKept: keepsWarm && kind.trust == .host)
  }

  // MARK: Text

  /// - Parameter fault: see ``InjectedFault/forgottenKey``.
  func text(sessions: Int, _ fault: InjectedFault?) -> String {
    var text = "[daemon]\n"
    for backend in backends { text += section(of: backend) }
    var known: Set<String> = []
    for index in 0..<sessions {
      let profile = profile(ofSession: index)
      guard known.insert(profile.name).inserted else { continue }
      text += section(of: profile, session: index)
      if profile.isKept, fault != .forgottenKey { text += "keep_warm = yes\n" }
    }
    return text
  }

  private func section(of backend: Backend) -> String {
    var text = "[backend \(backend.name)]\ntype = \(backend.type)\n"
    text += "rate_limit = \(backend.rate)/s\nmax_parallel = \(backend.width)\n"
    switch backend.type {
    case "exec": text += "command = \(backend.command)\n"
    case "cognito": text += "credentials_file = \(Self.keysFile)\n"
    default: text += "url = \(backend.url)/token\n"
    }
    if ["shop", "club"].contains(backend.name) {
      text += "login_url = \(backend.url)/login\nlogout_url = \(backend.url)/logout\n"
    }
    return text
  }

  private func section(of profile: SimulatedProfile, session: Int) -> String {
    var text = "[profile \(profile.name)]\nidentity_pool_id = \(Self.pool)\n"
    if let backend = profile.backend {
      text += "developer_provider = login.example.app\nbackend = \(backends[backend].name)\n"
      text += "user_identifier = {user}.\(profile.kind)\n"
    }
    if profile.isBasic {
      text += "flow = basic\nrole_arn = arn:aws:iam::123456789012:role/app\n"
      text += "duration = \(profile.duration)\n"
    }
    if profile.allowsGuests { text += "guest = yes\n" }
    if profile.hasTokenFile {
      text += "web_identity_token_file = \(SimulatedUsers.tokenFile(ofSession: session))\n"
      text += "web_identity_provider = \(Self.provider)\n"
    }
    return text
  }
}

/// Which Unix user a session belongs to: three sessions each.
enum SimulatedUsers {
  static let perUser = 3
  private static let firstUID: UInt32 = 1000
  private static let files = "/run/tokens/"

  static func user(ofSession index: Int) -> Int { index / perUser }

  static func sessions(ofUser user: Int) -> Range<Int> {
    user * perUser..<(user + 1) * perUser
  }

  static func uid(_ user: Int) -> UInt32 { firstUID + UInt32(user) }

  static func user(withUID uid: UInt32) -> Int? { uid < firstUID ? nil : Int(uid - firstUID) }

  static func name(_ user: Int, generation: Int) -> String { "u\(user)g\(generation)" }

  /// Another user of the same profiles.
  static func partner(of user: Int) -> Int { user % 6 < 3 ? user + 3 : user - 3 }

  static func tokenFile(ofSession index: Int) -> String { "\(files)\(index)" }

  static func session(ofTokenFile path: String) -> Int? {
    path.hasPrefix(files) ? Int(path.dropFirst(files.utf8.count)) : nil
  }

  /// Reads `u3g1.0`, a developer user identifier: user, generation, and the kind of profile.
  static func owner(ofIdentifier text: String) -> Owner? {
    let parts = text.split { $0 == "u" || $0 == "g" || $0 == "." }.compactMap { Int($0) }
    guard parts.count == 3 else { return nil }
    let session = sessions(ofUser: parts[0]).first {
      $0 % SimulatedConfiguration.kinds.count == parts[2]
    }
    return session.map { Owner(session: $0, generation: parts[1], .host) }
  }
}
