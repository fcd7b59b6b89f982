internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc
internal import Logging

/// Keeps the service's credentials from its commands. Of the files in `$CREDENTIALS_DIRECTORY`, a
/// command can read and change only those that the configuration names for it. It makes, moves and
/// removes no files there. File modes cannot do that, because a command runs as credd's user.
final class HiddenCredentials {
  /// The result of making the rules for one run.
  enum Outcome: Sendable {
    /// A descriptor of Landlock's rules.
    case rules(Int32)
    /// The kernel has no Landlock, or an old one that always forbids moving files between folders.
    case noLandlock(Int32)
    case failed(Int32, folder: String)

    /// The descriptor of the rules; -1 if nothing is hidden.
    var rules: Int32 { if case .rules(let descriptor) = self { descriptor } else { -1 } }

    func closeRules() {
      if case .rules(let descriptor) = self { credd_close(descriptor) }
    }
  }

  private let folder: String
  private let log: Logger
  /// The last problem, which is logged once.
  private var problem: String?

  /// The version that lets a program move files between folders: Linux 5.19.
  static let version: Int32 = 2

  init(folder: String, log: Logger) {
    self.folder = folder
    self.log = log
  }

  /// A closure that makes the rules for one run of a command, and that blocks; nil if nothing is to
  /// be hidden. The rules also hide files that are mounted or made later, beside the folders that
  /// lead to the credentials.
  func hiding(from command: Command) -> (@Sendable () -> Outcome)? {
    let texts =
      command.arguments.map { Array($0.utf8) } + command.environment.map(\.value.bytes)
    guard case .files(let names) = NamedCredentials(in: texts, folder: folder) else { return nil }
    return { [folder] in Self.makeRules(hiding: folder, except: names) }
  }

  /// Logs a problem, once.
  func report(_ outcome: Outcome) {
    switch outcome {
    case .rules: problem = nil
    case .noLandlock(let number):
      say(
        .notice,
        "commands can read every file of $CREDENTIALS_DIRECTORY: "
          + (number == EPERM
            ? "the service may not use Landlock; allow landlock_create_ruleset, "
              + "landlock_add_rule and landlock_restrict_self in SystemCallFilter="
            : "this kernel has no Landlock that would prevent it (Linux 5.19 or later, and "
              + "'landlock' in its parameter lsm=)"))
    case .failed(let number, let folder):
      let error = SystemError(
        number == E2BIG
          ? "hide the credentials from a command: '\(folder)' has more than "
            + "\(CREDD_HIDDEN_BESIDE_MOST) entries"
          : "hide the credentials from a command: list '\(folder)'", number: number)
      say(.error, "no command is started: cannot \(error)")
    }
  }

  private func say(_ level: Logger.Level, _ text: String) {
    guard problem != text else { return }
    problem = text
    log.log(level: level, "\(text)")
  }

  /// Blocks: it lists the folders that lead to the credentials.
  private static func makeRules(hiding folder: String, except names: [String]) -> Outcome {
    let version = credd_landlock_version()
    guard version >= Self.version else { return .noLandlock(version < 0 ? -version : EOPNOTSUPP) }
    var refused = [CChar](repeating: 0, count: Int(PATH_MAX))
    let descriptor = unsafe CStrings.with(names.map { Array($0.utf8) + [0] }) { names in
      unsafe credd_rules_hiding(folder, names, &refused, refused.count)
    }
    guard descriptor < 0 else { return .rules(descriptor) }
    let blamed = refused.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return .failed(-descriptor, folder: String(decoding: blamed, as: UTF8.self))
  }
}
