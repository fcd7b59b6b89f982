/// Turns sections into settings and reports all problems.
struct ConfigurationReader {
  let environment: (String) -> String?
  let policyFile: (_ path: String) -> Result<[UInt8], InvalidValue>
  var diagnostics: DiagnosticList
  var configuration = Configuration()
  /// The sections of sockets with a cap, also those with a wrong path: it is empty then.
  var socketSections: [(settings: SocketSettings, section: INISection)] = []
  /// Every backend with a header, even if its section has errors, because a profile may name it.
  private var backendHeaders: [(name: String, position: SourcePosition)] = []
  private var backendTypes: [String: BackendType] = [:]
  private var backendReferences: [BackendReference] = []
  /// What only the types of all backends can judge.
  private var sectionsWithoutPool: [(profile: ProfileSettings, section: INISection)] = []
  private var derivedSections: [(profile: ProfileSettings, section: INISection)] = []
  /// Keys `sts_endpoint` in the enhanced flow, with their profiles: only derived profiles use them.
  var endpointsOfEnhanced: [(profile: String, position: SourcePosition)] = []
  private var profileCount = 0
  /// Where each profile begins, by name.
  private(set) var profileHeaders: [String: SourcePosition] = [:]
  /// The lines of keys and headers, as in ``ConfigurationReading``.
  private(set) var positions: [String: SourcePosition] = [:]

  /// A profile's key `backend`, and its `developer_provider`, if it has one.
  private struct BackendReference {
    let name: String
    let position: SourcePosition
    let developerProvider: SourcePosition?
    /// `link_backend`.
    var link: (name: String, position: SourcePosition)?
    /// Of `flow = direct`, which has rules of its own.
    var isDirect = false
    var ofProvider = OfProvider()

    struct OfProvider {
      var tokens: [VendedToken] = []
      /// Whether programs get credentials, too.
      var vendsCredentials = true
      var tokensPosition: SourcePosition?
      var hosts: [(key: String, position: SourcePosition)] = []
    }
  }

  init(
    environment: @escaping (String) -> String?,
    policyFile: @escaping (_ path: String) -> Result<[UInt8], InvalidValue>,
    diagnostics: DiagnosticList
  ) {
    self.environment = environment
    self.policyFile = policyFile
    self.diagnostics = diagnostics
  }

  mutating func read(_ document: INIDocument) {
    for section in document.sections { read(section) }
    checkReferences()
    checkSockets()
    for (profile, section) in sectionsWithoutPool { checkPool(of: profile, section) }
    checkSources(derivedSections)
    checkWithheld()
    checkRedirectURIs()
    checkCapacity()
    checkKeptSessions()
    if profileCount == 0 {
      diagnostics.warning(at: nil, "there is no [profile NAME]: nobody can get credentials")
    }
  }

  private mutating func read(_ section: INISection) {
    guard let kind = SectionKind(rawValue: section.words[0]) else {
      diagnostics.error(at: section.position, Self.unknownSection(section))
      return
    }
    let title = section.words.joined(separator: " ")
    positions[title] = section.position
    for entry in section.entries { positions["\(title)/\(entry.key)"] = entry.position }
    // A section with a wrong header is read too, to report the problems within it.
    if kind == .socket { return readSocket(section) }
    let name = nameInHeader(of: section, kind: kind)
    switch kind {
    case .daemon: readDaemon(section)
    case .backend: readBackend(section, name: name)
    case .profile: readProfile(section, name: name)
    case .socket: break
    }
  }

  private static func unknownSection(_ section: INISection) -> String {
    let known = SectionKind.allCases
    if section.words == ["default"] {
      return "unknown section [default]; did you mean '[profile default]'?"
    }
    return "unknown section \(section.title.singleQuoted)"
      + NearestName.suggestion(
        section.words[0], in: known.map(\.rawValue),
        otherwise: "; known are \(known.map(\.header).joined(separator: ", "))")
  }

  /// The name in a header. If there is none or it is wrong, reports an error and returns nil.
  private mutating func nameInHeader(of section: INISection, kind: SectionKind) -> String? {
    switch (kind, section.words.count) {
    case (.daemon, 1):
      return nil
    case (.daemon, _):
      diagnostics.error(at: section.position, "[daemon] has no name")
      return nil
    case (_, 2) where section.words[1].isProfileName:
      return section.words[1]
    case (_, 1):
      diagnostics.error(at: section.position, "\(section.title) needs a name: \(kind.header)")
      return nil
    default:
      let name = section.words.dropFirst().joined(separator: " ")
      diagnostics.error(
        at: section.position,
        "\(name.singleQuoted) is not \(ValueSyntax<String>.sectionName.name)")
      return nil
    }
  }

  private mutating func readDaemon(_ section: INISection) {
    var settings = DaemonSettings()
    assign(ConfigurationSchema.daemon, from: section, to: &settings)
    configuration.daemon = settings
  }

  private mutating func readBackend(_ section: INISection, name: String?) {
    if let name {
      backendHeaders.append((name, section.position))
      if backendHeaders.count == Limits.Configuration.backends + 1 {
        diagnostics.error(
          at: section.position, "more than \(Limits.Configuration.backends) backends")
      }
    }
    let type = section["type"].flatMap { entry in
      (try? value(of: entry).text()).flatMap(BackendType.init(rawValue:))
    }
    var draft = BackendDraft()
    assign(ConfigurationSchema.backend, from: section, type: type, to: &draft)
    draft.own?.check(section, &self)
    if let name, let type { backendTypes[name] = type }
    if let name { configuration.backends[name] = draft.settings(name: name) }
  }

  private mutating func readProfile(_ section: INISection, name: String?) {
    profileCount += 1
    if profileCount == Limits.Configuration.profiles + 1 {
      diagnostics.error(
        at: section.position, "more than \(Limits.Configuration.profiles) profiles")
    }
    var settings = ProfileSettings(name: name ?? "", identityPoolID: "")
    assign(ConfigurationSchema.profile, from: section, to: &settings)
    checkDuration(&settings, section)
    notePlace(of: &settings, section)
    check(settings, section)
    // A wrong name counts as present.
    if section["source_profile"] != nil {
      derivedSections.append((settings, section))
    } else {
      noteBackend(of: settings, section)
      if section["identity_pool_id"] == nil { sectionsWithoutPool.append((settings, section)) }
    }
    if settings.readsPolicyFirst { readPolicy(of: settings, section) }
    if let name {
      configuration.profiles[name] = settings
      profileHeaders[name] = section.position
    }
  }

  private mutating func noteBackend(of settings: ProfileSettings, _ section: INISection) {
    // Its other keys are errors already.
    if settings.flow == .direct {
      guard let backend = settings.backend else { return }
      backendReferences.append(
        BackendReference(
          name: backend, position: section.position(of: "backend"), developerProvider: nil,
          isDirect: true, ofProvider: ofProvider(settings, section)))
    } else if let backend = settings.backend {
      backendReferences.append(
        BackendReference(
          name: backend, position: section.position(of: "backend"),
          developerProvider: section["developer_provider"]?.position,
          link: settings.linkBackend.map { ($0, section.position(of: "link_backend")) },
          ofProvider: ofProvider(settings, section)))
    } else {
      // A wrong name counts as present.
      require("developer_provider", with: "backend", section)
    }
    if settings.flow != .direct { require("backend", with: "link_backend", section) }
  }

  private mutating func checkPool(of profile: ProfileSettings, _ section: INISection) {
    // A backend that is not there, or of no known type, has its own error.
    let type = profile.backend.flatMap { backendTypes[$0] }
    if profile.backend != nil, type == nil { return }
    if profile.flow == .direct { return checkDirect(profile, section, at: type) }
    checkWithoutPool(profile, section, type?.provider)
  }

  private mutating func checkReferences() {
    let known = Set(backendHeaders.map(\.name))
    let named =
      backendReferences.map { ("backend", $0.name, $0.position) }
      + backendReferences.compactMap(\.link).map { ("link_backend", $0.name, $0.position) }
    for (key, name, position) in named where !known.contains(name) {
      diagnostics.error(
        at: position,
        "\(key): there is no [backend \(name)]"
          + NearestName.suggestion(name, in: backendHeaders.map(\.name)))
    }
    for reference in backendReferences {
      if !reference.isDirect { checkProvider(of: reference) }
      checkLink(of: reference)
      checkChoices(of: reference)
    }
    let used = Set(named.map(\.1))
    for header in backendHeaders where !used.contains(header.name) {
      diagnostics.warning(
        at: header.position, "no profile uses the backend \(header.name.singleQuoted)")
    }
  }

  /// A backend names users of the identity pool's developer provider. If the backend is itself a
  /// provider, the key would have no effect, and credd would take its logins for those of the
  /// developer provider.
  private mutating func checkProvider(of reference: BackendReference) {
    switch (reference.developerProvider, backendTypes[reference.name]?.provider) {
    case (nil, nil):
      diagnostics.error(at: reference.position, "backend: requires 'developer_provider'")
    case (let position?, let provider?):
      diagnostics.error(
        at: position,
        "developer_provider: [backend \(reference.name)] is \(provider.words.article) "
          + "\(provider.words.name), which needs none")
    default: break
    }
  }

  /// Only a backend that gets logins can link a provider's sign-ins.
  private mutating func checkLink(of reference: BackendReference) {
    guard let (name, position) = reference.link, let type = backendTypes[name] else { return }
    switch configuration.backends[name]?.kind {
    case nil: break
    case let provider as any ProviderKind:
      // The passwords of the linked provider would be taken for the backend's.
      guard let reason = provider.lackOfBrowser, takesPasswords(reference.name) else { break }
      diagnostics.error(
        at: position,
        "link_backend: [backend \(name)] \(reason), and a password would be taken for one of "
          + "[backend \(reference.name)]")
    default:
      let providers = BackendType.providers.map(\.rawValue).joined(separator: " or ")
      diagnostics.error(
        at: position,
        "link_backend: [backend \(name)] is of type \(type.rawValue), not \(providers)")
    }
    guard let backend = configuration.backends[reference.name]?.kind else { return }
    if backend is any ProviderKind {
      diagnostics.error(
        at: position,
        "link_backend: [backend \(reference.name)] is a provider itself: only a backend with a "
          + "developer_provider links others")
    } else if !backend.takesLogins {
      diagnostics.error(
        at: position,
        "link_backend: [backend \(reference.name)] has method = GET, which carries no logins")
    }
  }

  private func takesPasswords(_ backend: String) -> Bool {
    configuration.backends[backend]?.kind.takesPasswords ?? false
  }

  /// The keys of a profile that depend on its provider.
  private func ofProvider(
    _ settings: ProfileSettings, _ section: INISection
  ) -> BackendReference.OfProvider {
    BackendReference.OfProvider(
      tokens: settings.vendTokens, vendsCredentials: settings.vendCredentials,
      tokensPosition: section["vend_tokens"]?.position,
      hosts: [("fips", settings.fips), ("dualstack", settings.dualstack)].compactMap { key, isOn in
        isOn ? (key, section.position(of: key)) : nil
      })
  }

  /// Only a provider, the backend itself or a linked one, has tokens for programs. Only for AWS's
  /// own hosts can FIPS and dualstack be chosen.
  private mutating func checkChoices(of reference: BackendReference) {
    checkVended(by: reference)
    guard let fixed = configuration.backends[reference.name]?.kind.fixedHostKey else { return }
    for (key, position) in reference.ofProvider.hosts {
      diagnostics.error(
        at: position,
        "\(key): cannot be combined with '\(fixed)' of [backend \(reference.name)]")
    }
  }

  private mutating func checkVended(by reference: BackendReference) {
    guard let type = backendTypes[reference.name] else { return }
    let (words, position) = (reference.ofProvider.tokens, reference.ofProvider.tokensPosition)
    if reference.isDirect, type.provider == nil { return }
    guard let provider = type.provider else {
      if words.contains(.developer), reference.ofProvider.vendsCredentials {
        refuseDeveloper(at: position)
      }
      guard reference.link == nil, words.contains(where: { $0 != .developer }) else { return }
      return diagnostics.error(
        at: position,
        "vend_tokens: [backend \(reference.name)] is no user pool, and has no tokens for programs")
    }
    guard words.contains(.developer) else { return }
    diagnostics.error(
      at: position,
      "vend_tokens: [backend \(reference.name)] is \(provider.words.article) "
        + "\(provider.words.name), which gives no 'developer' tokens")
  }

  mutating func keep(_ socket: SocketSettings) { configuration.sockets[socket.path] = socket }

  func value(of entry: INIEntry) -> ConfigurationValue {
    ConfigurationValue(written: entry.value, environment: environment)
  }
}

extension ConfigurationReader {
  /// Reads the entries of a section into its settings.
  mutating func assign<Settings>(
    _ keys: [ConfigurationKey<Settings>], from section: INISection, type: BackendType? = nil,
    to settings: inout Settings
  ) {
    for entry in section.entries {
      let named = keys.filter { $0.reference.matches(entry.key) }
      if let key = named.first(where: { $0.reference.applies(to: type) }) {
        assign(key, from: entry, to: &settings)
      } else if named.isEmpty {
        diagnostics.error(
          at: entry.position, Self.unknownKey(entry.key, in: section, keys.map(\.reference)))
      } else if let type {
        let owners = named.flatMap(\.reference.types).map(\.rawValue)
        diagnostics.error(
          at: entry.position,
          "\(entry.key.singleQuoted) belongs to backends of type "
            + "\(owners.joined(separator: " or ")), not \(type.rawValue)")
      }
    }
    for key in keys.map(\.reference)
    where key.isRequired && key.applies(to: type) && section[key.name] == nil {
      diagnostics.error(
        at: section.position, "\(section.title.singleQuoted) lacks '\(key.name)', \(key.syntax)")
    }
  }

  private mutating func assign<Settings>(
    _ key: ConfigurationKey<Settings>, from entry: INIEntry, to settings: inout Settings
  ) {
    let value = value(of: entry)
    let member = key.reference.isFamily ? entry.key.dropFirst(key.reference.name.count) : ""
    let variable = key.takesVariables ? nil : value.mentionedVariable
    do throws(InvalidValue) {
      guard !key.reference.isFamily || !member.isEmpty else {
        throw InvalidValue("a name must follow the dot: \(key.reference.shown)")
      }
      try key.assign(value, String(member), &settings)
      if let variable {
        diagnostics.warning(
          at: entry.position,
          "\(entry.key): ${\(variable)} stays as it is: variables are replaced in paths only")
      }
    } catch {
      let note = variable.map { "; ${\($0)} is not replaced: variables are for paths only" } ?? ""
      diagnostics.error(
        at: entry.position, "\(entry.key): \(error.message)\(note)")
    }
  }

  private static func unknownKey(
    _ key: String, in section: INISection, _ known: [ConfigurationKeyReference]
  ) -> String {
    let message = "unknown key \(key.singleQuoted) in \(section.title.singleQuoted)"
    let owner = SectionKind.allCases.first { kind in
      ConfigurationSchema.references(of: kind).contains { $0.matches(key) }
    }
    if let owner { return "\(message); it belongs in \(owner.header)" }
    if known.contains(where: { $0.name == "\(key)_file" }) {
      return "\(message); its value stands in a file of its own: '\(key)_file = /PATH'"
    }
    // In `haeder.X-Team` the family is misspelt, not the name after the dot.
    if let dot = key.firstIndex(of: ".") {
      let families = known.filter(\.isFamily).map(\.name)
      if let family = NearestName.of(String(key[...dot]), in: families) {
        return "\(message); did you mean '\(family)\(key[dot...].dropFirst())'?"
      }
    }
    return message + NearestName.suggestion(key, in: known.map(\.shown))
  }
}
