public import CredCore

/// Commands in messages. A person copies them as they stand, so they name the profile, and the user where
/// the command takes one.
public enum AdvisedCommand {
  /// `credctl VERB PROFILE WORD…`.
  public static func text(_ verb: String, _ profile: String, _ words: String...) -> String {
    PlainText.oneLine(
      (["credctl", verb, ShellWord.quoted(profile)] + words).joined(separator: " "))
  }

  /// By which the user signs in next.
  public static func login(_ profile: String, username: String? = nil) -> String {
    PlainText.oneLine("credctl login --profile \(ShellWord.quoted(profile))" + name(username))
  }

  /// For another action of `account`.
  public static func account(
    _ action: String, _ profile: String, username: String? = nil
  ) -> String {
    PlainText.oneLine("credctl account \(ShellWord.quoted(profile)) \(action)" + name(username))
  }

  private static func name(_ username: String?) -> String {
    username.map { " --username \(ShellWord.quoted($0))" } ?? ""
  }
}

extension Failure {
  /// The same, with the user's name in the command of `account` that it advises: credctl would take
  /// `$USER` otherwise.
  public func advising(username: String?, profile: String) -> Failure {
    guard let username else { return self }
    var failure = self
    for action in [AccountAction.confirm, .forgotPassword] {
      failure.message = failure.message.replacing(
        "'\(AdvisedCommand.account(action.rawValue, profile))'",
        with: "'\(AdvisedCommand.account(action.rawValue, profile, username: username))'")
    }
    return failure
  }
}

/// Who names no profile means the profile `default`, which few hosts have.
extension Failure {
  /// Whether the daemon refused the profile `default`, because there is none or it is not open.
  public var isOfDefaultProfile: Bool {
    let name = "profile '\(DefaultProfile.ofDaemon)'"
    return switch code.flatMap(ProtocolErrorCode.init) {
    case .unknownProfile: message.hasPrefix("there is no \(name)")
    case .accessDenied:
      ["available", "open"].contains { message.hasPrefix("\(name) is not \($0) to ") }
    default: false
    }
  }

  /// Verbs whose only word is the profile.
  private static let verbsOfAProfile = [
    "get", "token", "identity", "login", "logout", "env", "endpoint", "serve", "check", "release",
  ]
  /// Verbs that give what a profile for derived profiles alone does not.
  private static let verbsOfCredentials = ["get", "env", "endpoint", "serve", "exec"]
  private static let mostCommands = 3
  private static let mostNames = 10

  /// This failure with the commands that work.
  ///
  /// - Parameters:
  ///   - profiles: the reply that lists the profiles that are open to the user.
  ///   - verb: what the user typed.
  ///   - isNamed: whether the user named the profile `default`.
  public func naming(_ profiles: JSONValue, for verb: String, isNamed: Bool = false) -> Failure {
    let others = ProfileList.names(
      profiles, withCredentials: Self.verbsOfCredentials.contains(verb)
    ).filter { $0 != DefaultProfile.ofDaemon }
    guard let first = others.first else { return self }
    guard isNamed else { return naming(others, first, for: verb) }
    let end = message.indices.first { ":;".contains(message[$0]) } ?? message.endIndex
    var failure = self
    let names = others.prefix(Self.mostCommands)
    failure.message =
      String(message[..<end]) + ": "
      + (Self.verbsOfAProfile.contains(verb)
        ? names.map { AdvisedCommand.text(verb, $0) }.joined(separator: ", ")
        : "name one with '--profile', such as \(names.joined(separator: ", "))")
    return failure
  }

  /// The failure of a user who named no profile, and who need not know the name `default`.
  private func naming(_ others: [String], _ first: String, for verb: String) -> Failure {
    let names =
      others.prefix(Self.mostNames).joined(separator: ", ")
      + (others.count > Self.mostNames ? ", …" : "")
    let example =
      Self.verbsOfAProfile.contains(verb)
      ? "'\(AdvisedCommand.text(verb, first))'" : "'--profile \(ShellWord.quoted(first))'"
    var failure = self
    failure.message = "no profile was named; open to you: \(names); name one, as in \(example)"
    return failure
  }

  /// The refusal of a `check` by a profile that is not open to root, with what root may do.
  public var namingCheckOfAll: Failure {
    guard code.flatMap(ProtocolErrorCode.init) == .accessDenied,
      message.contains(" is not open to root: ")
    else { return self }
    var failure = self
    failure.message += ", or 'credctl check --all-profiles'"
    return failure
  }
}

/// A user's own credd hides the host's from credctl.
extension SocketPath {
  /// How to reach the host's credd; nil unless this is the user's own, and the host has one.
  public func hiddenSystem(exists: (String) -> Bool) -> String? {
    guard origin == .userManager, exists(Self.system.path) else { return nil }
    return PlainText.oneLine(
      "this is your own credd, \(path); for the host's add --socket \(Self.system.path)")
  }
}

extension Failure {
  /// The same, with the credd that does not know or open the profile, where the other may.
  public func answered(at socket: SocketPath, exists: (String) -> Bool) -> Failure {
    guard let code = code.flatMap(ProtocolErrorCode.init),
      [.unknownProfile, .accessDenied].contains(code),
      let hidden = socket.hiddenSystem(exists: exists)
    else { return self }
    var failure = self
    failure.refusedBy = hidden
    return failure
  }
}
