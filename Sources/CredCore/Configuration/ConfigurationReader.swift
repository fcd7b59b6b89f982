/// Turns sections into settings and finds everything wrong with them.
struct ConfigurationReader {
  let environment: (String) -> String?
  var diagnostics: DiagnosticList
  private(set) var configuration = Configuration()
  /// Every backend that has a header, even if its section is wrong: a profile may name it.
  private var backendHeaders: [(name: String, position: SourcePosition)] = []
  private var backendReferences: [(name: String, position: SourcePosition)] = []
  private var profileCount = 0
  /// Where each profile begins, by name.
  private(set) var profileHeaders: [String: SourcePosition] = [:]

  init(environment: @escaping (String) -> String?, diagnostics: DiagnosticList) {
    self.environment = environment
    self.diagnostics = diagnostics
  }

  mutating func read(_ document: INIDocument) {
    for section in document.sections { read(section) }
    checkReferences()
    checkCapacity()
    if profileCount == 0 {
      diagnostics.warning(at: nil, "there is no [profile NAME]: nobody can get credentials")
    }
  }

  private mutating func read(_ section: INISection) {
    guard let kind = SectionKind(rawValue: section.words[0]) else {
      diagnostics.error(at: section.position, Self.unknownSection(section))
      return
    }
    // A section with a wrong header is read all the same, for the problems within it.
    let name = nameInHeader(of: section, kind: kind)
    switch kind {
    case .daemon: readDaemon(section)
    case .backend: readBackend(section, name: name)
    case .profile: readProfile(section, name: name)
    }
  }

  private static func unknownSection(_ section: INISection) -> String {
    let known = SectionKind.allCases
    if section.words == ["default"] {
      return "unknown section [default]; did you mean '[profile default]'?"
    }
    return "unknown section \(section.title.forMessage)"
      + NearestName.suggestion(
        section.words[0], in: known.map(\.rawValue),
        otherwise: "; known are \(known.map(\.header).joined(separator: ", "))")
  }

  /// The name a header gives; nil if there is none or, with an error, if it is wrong.
  private mutating func nameInHeader(of section: INISection, kind: SectionKind) -> String? {
    switch (kind, section.words.count) {
    case (.daemon, 1):
      return nil
    case (.daemon, _):
      diagnostics.error(at: section.position, "[daemon] has no name")
      return nil
    case (_, 2) where section.words[1].isSectionName:
      return section.words[1]
    case (_, 1):
      diagnostics.error(at: section.position, "\(section.title) needs a name: \(kind.header)")
      return nil
    default:
      let name = section.words.dropFirst().joined(separator: " ")
      diagnostics.error(
        at: section.position,
        "\(name.forMessage) is not \(ValueSyntax<String>.sectionName.name)")
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
      if backendHeaders.count == ConfigurationLimits.backends + 1 {
        diagnostics.error(
          at: section.position, "more than \(ConfigurationLimits.backends) backends")
      }
    }
    let type = section["type"].flatMap { entry in
      (try? value(of: entry).text()).flatMap(BackendType.init(rawValue:))
    }
    var draft = BackendDraft()
    assign(ConfigurationSchema.backend, from: section, type: type, to: &draft)
    check(draft, section)
    if let name { configuration.backends[name] = draft.settings(name: name) }
  }

  private mutating func readProfile(_ section: INISection, name: String?) {
    profileCount += 1
    if profileCount == ConfigurationLimits.profiles + 1 {
      diagnostics.error(
        at: section.position, "more than \(ConfigurationLimits.profiles) profiles")
    }
    var settings = ProfileSettings(name: name ?? "", identityPoolID: "")
    assign(ConfigurationSchema.profile, from: section, to: &settings)
    check(settings, section)
    if let backend = settings.backend {
      backendReferences.append((backend, section.position(of: "backend")))
    }
    if let name {
      configuration.profiles[name] = settings
      profileHeaders[name] = section.position
    }
  }

  private mutating func checkReferences() {
    let known = Set(backendHeaders.map(\.name))
    for reference in backendReferences where !known.contains(reference.name) {
      diagnostics.error(
        at: reference.position,
        "backend: there is no [backend \(reference.name)]"
          + NearestName.suggestion(reference.name, in: backendHeaders.map(\.name)))
    }
    let used = Set(backendReferences.map(\.name))
    for header in backendHeaders where !used.contains(header.name) {
      diagnostics.warning(
        at: header.position, "no profile uses the backend \(header.name.forMessage)")
    }
  }

  func value(of entry: INIEntry) -> ConfigurationValue {
    ConfigurationValue(written: entry.value, environment: environment)
  }
}
