import CredCore

/// The second reading of a configuration file: sections and keys as credd.conf(5) describes them, and
/// the rules between keys.
struct SecondConfiguration {
  typealias Section = (words: [String], entries: [String: String])

  private var sections: [Section] = []
  private let environment: (String) -> String?

  /// Nil where the file must be refused for its lines or sections.
  init?(_ bytes: [UInt8], environment: @escaping (String) -> String?) {
    self.environment = environment
    guard bytes.count <= 1 << 20 else { return nil }
    let content = bytes.dropFirst(bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
    for line in content.split(separator: 0x0A, omittingEmptySubsequences: false) {
      guard read(Array(line.last == 0x0D ? line.dropLast() : line)) else { return nil }
    }
  }

  // MARK: Lines

  private static let blanks: [Unicode.Scalar] = [" ", "\t"]
  private static let marks: [Unicode.Scalar] = [";", "#"]

  private static func trimmed(_ text: String) -> String {
    let start = Array(text.unicodeScalars).drop { blanks.contains($0) }
    let scalars = start.reversed().drop { blanks.contains($0) }.reversed()
    return String(String.UnicodeScalarView(scalars))
  }

  /// False for a line that is none.
  private mutating func read(_ bytes: [UInt8]) -> Bool {
    guard bytes.count <= 8192, let line = String(validating: bytes, as: UTF8.self),
      line.unicodeScalars.allSatisfy({ $0 == "\t" || $0.properties.generalCategory != .control })
    else { return false }
    let text = Self.trimmed(line)
    guard let first = text.unicodeScalars.first, !Self.marks.contains(first) else { return true }
    guard let start = line.unicodeScalars.first, !Self.blanks.contains(start) else { return false }
    return first == "[" ? readHeader(text) : readEntry(text)
  }

  private mutating func readHeader(_ text: String) -> Bool {
    let scalars = Array(text.unicodeScalars)
    guard let end = scalars.firstIndex(of: "]") else { return false }
    let rest = scalars[(end + 1)...].drop { Self.blanks.contains($0) }
    guard rest.first.map(Self.marks.contains) ?? true else { return false }
    let words = scalars[1..<end].split { Self.blanks.contains($0) }
      .map { String(String.UnicodeScalarView($0)) }
    guard !words.isEmpty, !sections.contains(where: { $0.words == words }) else { return false }
    sections.append((words, [:]))
    return true
  }

  private mutating func readEntry(_ text: String) -> Bool {
    let scalars = Array(text.unicodeScalars)
    guard let equals = scalars.firstIndex(of: "="), !sections.isEmpty else { return false }
    let key = Self.trimmed(String(String.UnicodeScalarView(scalars[..<equals])))
    guard SecondRules.isVisible(key, 1...Int.max), !key.contains("\""),
      let value = Self.withoutComment(scalars[(equals + 1)...]), !value.isEmpty,
      sections[sections.count - 1].entries.updateValue(value, forKey: key) == nil
    else { return false }
    return true
  }

  /// Nil where a quote is not closed.
  private static func withoutComment(_ scalars: ArraySlice<Unicode.Scalar>) -> String? {
    var value = ""
    var (isQuoted, isEscaped) = (false, false)
    var last: Unicode.Scalar = " "
    for scalar in scalars {
      if !isQuoted, blanks.contains(last), marks.contains(scalar) { break }
      if isEscaped {
        isEscaped = false
      } else if isQuoted, scalar == "\\" {
        isEscaped = true
      } else if scalar == "\"" {
        isQuoted.toggle()
      }
      value.unicodeScalars.append(scalar)
      last = scalar
    }
    return isQuoted ? nil : trimmed(value)
  }

  // MARK: Sections

  /// Every setting of every section by its name; nil if the file must be refused.
  var settings: [String: String]? {
    var settings: [String: String] = [:]
    let backends = Set(sections.filter { $0.words[0] == "backend" }.map { $0.words.last ?? "" })
    for section in sections {
      let name = section.words.joined(separator: " ")
      var read: [String: String]?
      switch (section.words[0], section.words.count) {
      case ("daemon", 1):
        read = values(DaemonRows.all.map { ($0.name, $0.kind, $0.standard) }, section)
      case ("backend", 2):
        let type = value(section, "type")?.text() ?? ""
        let rows = BackendRows.all.filter { $0.type.isEmpty || $0.type == type }
        read = values(rows.map { ($0.name, $0.kind, $0.standard) }, section)
        guard isAllowed(backend: section, type: type) else { return nil }
      case ("profile", 2):
        read = values(ProfileRows.all.map { ($0.name, $0.kind, $0.standard) }, section)
        guard isAllowed(profile: section, backends) else { return nil }
      default: return nil
      }
      guard let read, section.words.count == 1 || SecondRules.isProfileName(section.words[1])
      else { return nil }
      for (key, value) in read { settings["\(name): \(key)"] = value }
    }
    guard haveOwnRedirects else { return nil }
    if sections.allSatisfy({ $0.words != ["daemon"] }) {
      for row in DaemonRows.all { settings["daemon: \(row.name)"] = row.standard }
    }
    return settings
  }

  private func value(_ section: Section, _ key: String) -> SecondValue? {
    section.entries[key].map { SecondValue(written: $0, environment: environment) }
  }

  private func values(
    _ rows: [(name: String, kind: ValueKind, standard: String?)], _ section: Section
  ) -> [String: String]? {
    var values: [String: String] = [:]
    for row in rows { values[row.name] = row.standard }
    var members: [String: [String]] = [:]
    for (key, written) in section.entries {
      let value = SecondValue(written: written, environment: environment)
      let row =
        rows.first { $0.name == key }
        ?? rows.first {
          $0.name.hasSuffix(".") && key.hasPrefix($0.name)
        }
      guard let row else { return nil }
      let member = row.name.hasSuffix(".") ? String(key.dropFirst(row.name.count)) : ""
      guard let shown = value.shown(row.kind, member: member) else { return nil }
      if row.name.hasSuffix(".") {
        members[row.name, default: []].append(shown)
      } else {
        values[row.name] = shown
      }
    }
    for (family, shown) in members {
      let names = shown.map { String($0.prefix { $0 != "=" }).lowercased() }
      let most = ["environment.": 256, "principal_tags.": 50][family] ?? 64
      guard shown.count <= most, family != "header." || Set(names).count == names.count else {
        return nil
      }
      values[family] = shown.sorted().joined(separator: "\n")
    }
    return values
  }

  // MARK: Rules between keys

  private func isClear(_ section: Section, _ key: String) -> Bool {
    guard let text = value(section, key)?.text() else { return true }
    let plain = SecondRules.template(text)?.plain ?? text
    guard let url = SecondRules.url(plain) else { return true }
    return url.isEncrypted || SecondRules.isLoopback(url.host)
  }

  private func isOn(_ section: Section, _ key: String) -> Bool {
    value(section, key)?.shown(.yesNo) == "true"
  }

  private func isAllowed(backend section: Section, type: String) -> Bool {
    let has = { (key: String) in section.entries[key] != nil }
    let isPlain = isOn(section, "allow_plain_http")
    switch type {
    case "http":
      let keys = ["url", "login_url", "logout_url", "register_url"]
      let isSet = section.entries.keys.contains { $0.lowercased() == "header.authorization" }
      return has("url")
        && (isPlain || has("unix_socket") || keys.allSatisfy { isClear(section, $0) })
        && (!has("client_key") || has("client_certificate"))
        && !(isSet && (has("bearer_token_file") || has("login_url")))
    case "exec": return has("command")
    case "cognito":
      return (isPlain || isClear(section, "cognito_endpoint"))
        && (!has("credentials_profile") || has("credentials_file"))
        && !(has("credential_process") && has("credentials_file"))
    case "aws-sample": return has("url") && (isPlain || isClear(section, "url"))
    case "user-pool":
      return has("user_pool_id") && has("client_id")
        && (isPlain || isClear(section, "user_pool_endpoint")) && isAllowed(hostedUI: section)
    case "oidc": return has("issuer") && has("client_id") && isAllowed(provider: section)
    default: return false
    }
  }

  /// Without a domain there is no sign-in by browser, and with one there is a place to come back to.
  private func isAllowed(hostedUI section: Section) -> Bool {
    let keys = [
      "redirect_uri", "identity_provider", "idp_identifier", "scopes", "logout_redirect_uri",
    ]
    let isBrowser = section.entries.keys.contains { key in
      keys.contains(key) || key.hasPrefix("authorize.") || key.hasPrefix("logout.")
    }
    return section.entries["domain"] != nil
      ? section.entries["redirect_uri"] != nil && asksForIDToken(section) : !isBrowser
  }

  private func asksForIDToken(_ section: Section) -> Bool {
    value(section, "scopes").map { $0.words(commas: true)?.contains("openid") ?? false } ?? true
  }

  private func isAllowed(provider section: Section) -> Bool {
    let has = { (key: String) in section.entries[key] != nil }
    let ways = value(section, "sign_in")?.words(commas: true) ?? ["browser", "paste"]
    let method = value(section, "client_authentication")?.text() ?? "none"
    return ways != ["none"] && (ways == ["device"] || has("redirect_uri"))
      && asksForIDToken(section)
      && has("client_secret_file") == ["basic", "post"].contains(method)
      && has("client_assertion_key_file") == (method == "private-key-jwt")
      && (!has("client_assertion_key_id") || has("client_assertion_key_file"))
  }

  /// No two providers share a redirect URI, but for Cognito's user pools among themselves.
  private var haveOwnRedirects: Bool {
    let places = sections.flatMap { section in
      section.words.first == "backend" ? redirects(of: section) : []
    }
    return places.allSatisfy { one in
      places.allSatisfy { other in
        one.provider == other.provider || one.isPool && other.isPool || one.place != other.place
          || one.port != nil && other.port != nil && one.port != other.port
      }
    }
  }

  /// - Returns: each with its scheme, host and path, and its port; nil for any.
  private func redirects(
    of section: Section
  ) -> [(provider: String, isPool: Bool, place: String, port: String?)] {
    let isPool = value(section, "type")?.text() == "user-pool"
    let provider = value(section, isPool ? "user_pool_id" : "issuer")?.text() ?? ""
    return (value(section, "redirect_uri")?.words(commas: true) ?? []).compactMap { uri in
      guard let url = SecondRules.url(uri) else { return nil }
      let scheme = url.isEncrypted ? "https" : "http"
      let rest = uri.dropFirst(scheme.count + 3)
      let authority = rest.prefix { $0 != "/" }
      let named = authority.lastIndex(of: ":").map { authority[authority.index(after: $0)...] }
      let port = named.flatMap { $0.allSatisfy(\.isNumber) && !$0.isEmpty ? String($0) : nil }
      var path = String(rest.dropFirst(authority.count))
      let takesAny = !url.isEncrypted && port == nil
      if path.isEmpty { path = "/" }
      if takesAny, path == "/" { path = "/" + (section.words.last ?? "") }
      return (
        provider, isPool, "\(scheme)://\(url.host.lowercased())\(path)",
        takesAny ? nil : port ?? ""
      )
    }
  }

  private func isAllowed(profile section: Section, _ backends: Set<String>) -> Bool {
    let has = { (key: String) in section.entries[key] != nil }
    let endpoints = ["cognito_endpoint", "sts_endpoint"]
    let isBasic = value(section, "flow")?.text() == "basic"
    let isAWS = isOn(section, "fips") || isOn(section, "dualstack")
    let provider = value(section, "web_identity_provider")?.text() ?? ""
    if let backend = value(section, "backend")?.text(), !backends.contains(backend) { return false }
    return has("identity_pool_id") && hasFittingProvider(section) && isKeptRightly(section)
      && hasFittingLink(section, backends) && hasFittingTokens(section)
      && (!isOn(section, "impersonate_signed_in") || has("impersonate"))
      && has("web_identity_provider") == has("web_identity_token_file")
      && (isBasic ? has("role_arn") : !has("policy_file") && !has("policy_arns"))
      && !(isAWS && endpoints.contains(where: has))
      && (isOn(section, "allow_plain_http") || endpoints.allSatisfy { isClear(section, $0) })
      && !provider.hasPrefix("cognito-identity") && isOfOnePartition(section)
  }

  /// Sessions are kept only by a daemon that stays, and users are named only where users count.
  private func isKeptRightly(_ section: Section) -> Bool {
    let written = value(section, "keep_warm")?.shown(.kept) ?? "no"
    guard written != "no" else { return true }
    let daemon = sections.last { $0.words == ["daemon"] }
    guard daemon?.entries["exit_on_idle"] == nil else { return false }
    guard written != "yes" else { return true }
    let has = { (key: String) in section.entries[key] != nil }
    return !has("allow_executables")
      && (!has("allow_units") || has("allow_users") || has("allow_groups"))
  }

  /// A backend needs a developer provider; one that is a provider itself has none.
  private func hasFittingProvider(_ section: Section) -> Bool {
    guard let backend = value(section, "backend")?.text() else { return true }
    let own = sections.last { $0.words == ["backend", backend] }
    let type = own.flatMap { value($0, "type")?.text() }
    let isProvider = type == "user-pool" || type == "oidc"
    return (section.entries["developer_provider"] != nil) == !isProvider
  }

  /// What is linked is a provider with a browser's or a device's sign-in, and what links it is none and
  /// is told of logins.
  private func hasFittingLink(_ section: Section, _ backends: Set<String>) -> Bool {
    guard let link = value(section, "link_backend")?.text() else { return true }
    guard let backend = value(section, "backend")?.text(), backends.contains(link) else {
      return false
    }
    let own = sections.last { $0.words == ["backend", backend] }
    let linked = sections.last { $0.words == ["backend", link] }
    let (type, other) = (
      own.flatMap { value($0, "type")?.text() } ?? "", linked.flatMap { value($0, "type")?.text() }
    )
    let isTold =
      type != "http" || own.flatMap { value($0, "method")?.text() } ?? "POST" == "POST"
    let takesPasswords = type == "aws-sample" || type == "http" && own?.entries["login_url"] != nil
    return ["http", "exec", "cognito", "aws-sample"].contains(type) && isTold
      && (other == "oidc"
        || other == "user-pool" && (linked?.entries["domain"] != nil || !takesPasswords))
  }

  /// Tokens come from a user pool or a provider, and `account` widens `access`. Only AWS's own pools have such hosts.
  private func hasFittingTokens(_ section: Section) -> Bool {
    let words = value(section, "vend_tokens")?.words(commas: true) ?? []
    let backend = value(section, "backend")?.text()
    let own = sections.last { $0.words == ["backend", backend ?? ""] }
    let type = own.flatMap { value($0, "type")?.text() }
    let hasTokens = type == "user-pool" || type == "oidc"
    let isAWS = isOn(section, "fips") || isOn(section, "dualstack")
    let isLinked = section.entries["link_backend"] != nil
    return (words.isEmpty || words == ["none"] || backend != nil && (hasTokens || isLinked))
      && (!words.contains("account") || words.contains("access"))
      && !(isAWS && type == "user-pool" && own?.entries["user_pool_endpoint"] != nil)
  }

  /// Roles and policies are of the partition of the pool's region.
  private func isOfOnePartition(_ section: Section) -> Bool {
    let regions = [
      "cn-": "aws-cn", "us-gov-": "aws-us-gov", "eusc-": "aws-eusc", "us-iso-": "aws-iso",
      "us-isob-": "aws-iso-b", "eu-isoe-": "aws-iso-e", "us-isof-": "aws-iso-f",
    ]
    let pool = value(section, "identity_pool_id")?.text() ?? ""
    let partition = regions.first { pool.hasPrefix($0.key) }?.value ?? "aws"
    let role = value(section, "role_arn")?.text().map { [$0] } ?? []
    let policies = value(section, "policy_arns")?.words(commas: true) ?? []
    return (role + policies).allSatisfy { $0.hasPrefix("arn:\(partition):") }
  }
}

extension SecondConfiguration {
  /// The settings that credd read, by the same names.
  static func shown(_ configuration: Configuration) -> [String: String] {
    var settings: [String: String] = [:]
    for row in DaemonRows.all { settings["daemon: \(row.name)"] = row.shown(configuration.daemon) }
    for (name, profile) in configuration.profiles {
      for row in ProfileRows.all { settings["profile \(name): \(row.name)"] = row.shown(profile) }
    }
    for (name, backend) in configuration.backends {
      for row in BackendRows.all where row.type.isEmpty || row.type == backend.type.rawValue {
        let shown = row.shown(backend)
        settings["backend \(name): \(row.name)"] =
          row.name == "header."
          ? shown?.split(separator: "\n").sorted().joined(separator: "\n") : shown
      }
    }
    return settings
  }
}
