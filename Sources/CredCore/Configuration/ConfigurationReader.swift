/// Turns sections into settings and reports all problems.
struct ConfigurationReader {
  let environment: (String) -> String?
  let policyFile: (_ path: String) -> Result<[UInt8], InvalidValue>
  var diagnostics: DiagnosticList
  var configuration = Configuration()
  /// The sections of sockets with a cap, also those with a wrong path: it is empty then.
  var socketSections: [(settings: SocketSettings, section: INISection)] = []
  /// Every backend with a header, even if its section has errors, because a profile may name it.
  private(set) var backendHeaders: [(name: String, position: SourcePosition)] = []
  private(set) var backendTypes: [String: BackendType] = [:]
  /// The sections of profiles, before the types of all backends are known.
  private var drafts: [(draft: ProfileDraft, section: INISection)] = []
  /// The same with their settings and their way, also those with a wrong name.
  var profileSections:
    [(profile: ProfileSettings, section: INISection, way: any ConfiguredWay.Type)] = []
  /// Keys `sts_endpoint` in the enhanced flow, with their profiles: only derived profiles use them.
  var endpointsOfEnhanced: [(profile: String, position: SourcePosition)] = []
  /// Where each profile begins, by name.
  private(set) var profileHeaders: [String: SourcePosition] = [:]
  /// The lines of keys and headers, as in ``ConfigurationReading``.
  private(set) var positions: [String: SourcePosition] = [:]

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
    var references: [BackendReference] = []
    for (draft, section) in drafts {
      if let reference = finish(draft, section) { references.append(reference) }
    }
    check(references)
    checkSockets()
    for (profile, section, way) in profileSections { checkBackend(of: profile, section, way) }
    checkSources()
    checkWithheld()
    checkRedirectURIs()
    checkCapacity()
    checkKeptSessions()
    if drafts.isEmpty {
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
    var draft = ProfileDraft(name: name ?? "")
    assign(ConfigurationSchema.profile, from: section, to: &draft)
    drafts.append((draft, section))
    if drafts.count == Limits.Configuration.profiles + 1 {
      diagnostics.error(
        at: section.position, "more than \(Limits.Configuration.profiles) profiles")
    }
    if let name { profileHeaders[name] = section.position }
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
