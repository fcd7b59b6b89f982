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
          "\(entry.key.forMessage) belongs to backends of type "
            + "\(owners.joined(separator: " or ")), not \(type.rawValue)")
      }
    }
    for key in keys.map(\.reference)
    where key.isRequired && key.applies(to: type) && section[key.name] == nil {
      diagnostics.error(
        at: section.position, "\(section.title.forMessage) lacks '\(key.name)', \(key.syntax)")
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
    let message = "unknown key \(key.forMessage) in \(section.title.forMessage)"
    let owner = SectionKind.allCases.first { kind in
      ConfigurationSchema.references(of: kind).contains { $0.matches(key) }
    }
    if let owner { return "\(message); it belongs in \(owner.header)" }
    // In `haeder.X-Team` it is the family that is misspelt, not the name after the dot.
    if let dot = key.firstIndex(of: ".") {
      let families = known.filter(\.isFamily).map(\.name)
      if let family = NearestName.of(String(key[...dot]), in: families) {
        return "\(message); did you mean '\(family)\(key[dot...].dropFirst())'?"
      }
    }
    return message + NearestName.suggestion(key, in: known.map(\.shown))
  }
}
