/// The keys of each section. The keys of [daemon] and [profile] are in DaemonSettings.swift and
/// ProfileSettings.swift, those of [socket] in SocketSettings.swift, beside their settings; those of each type of [backend] are in its folder.
/// A new key needs a property and a row there. The reader, the suggestions and the errors use the
/// row, and tests compare the rows with the manual and the example. Rules between keys are in
/// ConfigurationRules.swift.
enum ConfigurationSchema {
  /// The keys of a section, without the types of their values.
  static func references(of kind: SectionKind) -> [ConfigurationKeyReference] {
    switch kind {
    case .daemon: daemon.map(\.reference)
    case .backend: backend.map(\.reference)
    case .profile: profile.map(\.reference)
    case .socket: socket.map(\.reference)
    }
  }
}

/// The kinds of sections.
enum SectionKind: String, CaseIterable {
  case daemon, backend, profile, socket

  /// The header as the manual writes it.
  var header: String {
    switch self {
    case .daemon: "[daemon]"
    case .backend, .profile: "[\(rawValue) NAME]"
    case .socket: "[socket PATH]"
    }
  }
}
