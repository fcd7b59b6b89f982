import ArgumentParser
import CredctlKit

/// Completions that only credctl can give while a line is typed. ArgumentParser makes the rest.
/// The shell runs credctl with the words of the line: see `CompletionKind.custom`.
enum Completion {
  /// The profile as a word. It is completed only if the line does not name one yet.
  static let profile = CompletionKind.custom { words, index, _ in
    let line = TypedLine(words, before: index)
    guard !line.isOfCommand else { return [] }
    return (line.takesCommand ? ["--"] : []) + (line.namesProfile ? [] : profiles(line))
  }

  /// The profile as an option's value.
  static let profileOption = CompletionKind.custom { words, index, _ in
    profiles(TypedLine(words, before: index))
  }

  /// The words of `clear`: the profile, then the part to clear.
  static let cleared = CompletionKind.custom { words, index, _ in
    let line = TypedLine(words, before: index)
    let parts = Clear.Part.allCases.map(\.rawValue)
    return line.words.count > 1 || line.namesProfile ? parts : parts + profiles(line)
  }

  /// The word before a command.
  static let command = CompletionKind.custom { words, index, _ in
    TypedLine(words, before: index).isOfCommand ? [] : ["--"]
  }

  static let factor = CompletionKind.list(["SMS_MFA", "EMAIL_OTP", "SOFTWARE_TOKEN_MFA", "none"])
  // Without colons, which zsh would take for the end of the command.
  static let user = CompletionKind.shellCommand("bash -c 'compgen -u'")
  static let program = CompletionKind.shellCommand("bash -c 'compgen -c'")

  /// Any port of loopback.
  static let address = CompletionKind.custom { _, _, _ in
    [CompletionShell.requesting == .zsh ? #"127.0.0.1\:0"# : "127.0.0.1:0"]
  }

  /// The profiles that are open to the caller, if credd answers at once.
  private static func profiles(_ line: TypedLine) -> [String] {
    let answer = try? Client(socketArgument: line.socket).profiles(seconds: 1)
    return answer.map { ProfileList.names($0.reply) } ?? []
  }
}
