/// The users whose sessions of a profile are renewed without a request.
public enum KeepWarm: Sendable, Equatable {
  case nobody
  /// Every existing session.
  case everySession
  /// The sessions of these users, by name or uid, even if they never asked before.
  case users([String])

  /// Whether the session of this user is renewed.
  public func keeps(uid: UInt32, name: String?) -> Bool {
    switch self {
    case .nobody: false
    case .everySession: true
    case .users(let list): AccessRule.names(Caller(uid: uid, userName: name), in: list)
    }
  }

  public var users: [String] {
    if case .users(let list) = self { list } else { [] }
  }
}

extension ValueSyntax<KeepWarm> {
  static var keepWarm: ValueSyntax {
    ValueSyntax("no, yes, or a list of users' names or uids") { value throws(InvalidValue) in
      let words = try value.words(separatedByCommas: true)
      switch words {
      case ["no"]: return .nobody
      case ["yes"]: return .everySession
      default: break
      }
      if let wrong = words.first(where: { ["yes", "no"].contains($0) || !$0.isAccountName }) {
        throw InvalidValue(
          "\(wrong.singleQuoted) is no user's name here; yes and no stand alone")
      }
      return .users(words)
    }
  }
}

extension ConfigurationReader {
  /// Rules that need other sections, and the profile as a whole.
  mutating func checkKeptSessions() {
    for (name, profile) in configuration.profiles.sorted(by: { $0.key < $1.key }) {
      guard profile.keepWarm != .nobody else { continue }
      if configuration.daemon.exitOnIdle != nil {
        diagnostics.error(
          at: profileHeaders[name],
          "keep_warm: cannot be combined with exit_on_idle of [daemon], which ends credd while "
            + "nobody asks")
      }
      let isForPrograms = !profile.allowExecutables.isEmpty
      let isForUnits =
        !profile.allowUnits.isEmpty && profile.allowUsers.isEmpty && profile.allowGroups.isEmpty
      guard !profile.keepWarm.users.isEmpty, isForPrograms || isForUnits else { continue }
      diagnostics.error(
        at: profileHeaders[name],
        "keep_warm: only \(isForPrograms ? "programs" : "units") may use this profile, so no user "
          + "can be named; 'keep_warm = yes' renews the sessions that there are")
    }
  }
}
