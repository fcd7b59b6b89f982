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
      let most = ["header.": 64, "environment.": 256, "principal_tags.": 50][family] ?? 0
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
        && (isPlain || isClear(section, "user_pool_endpoint"))
    default: return false
    }
  }

  private func isAllowed(profile section: Section, _ backends: Set<String>) -> Bool {
    let has = { (key: String) in section.entries[key] != nil }
    let endpoints = ["cognito_endpoint", "sts_endpoint"]
    let isBasic = value(section, "flow")?.text() == "basic"
    let isAWS = isOn(section, "fips") || isOn(section, "dualstack")
    let provider = value(section, "web_identity_provider")?.text() ?? ""
    if let backend = value(section, "backend")?.text(), !backends.contains(backend) { return false }
    return has("identity_pool_id") && hasFittingProvider(section)
      && (!has("impersonate_signed_in") || has("impersonate"))
      && has("web_identity_provider") == has("web_identity_token_file")
      && (isBasic ? has("role_arn") : !has("policy_file") && !has("policy_arns"))
      && !(isAWS && endpoints.contains(where: has))
      && (isOn(section, "allow_plain_http") || endpoints.allSatisfy { isClear(section, $0) })
      && !provider.hasPrefix("cognito-identity") && isOfOnePartition(section)
  }

  /// A backend needs a developer provider; a user pool has none.
  private func hasFittingProvider(_ section: Section) -> Bool {
    guard let backend = value(section, "backend")?.text() else { return true }
    let own = sections.last { $0.words == ["backend", backend] }
    let type = own.flatMap { value($0, "type")?.text() }
    return (section.entries["developer_provider"] != nil) == (type != "user-pool")
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
