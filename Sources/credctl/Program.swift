import CLinux
import CSwiftStart
import CredctlKit
import Glibc

/// One run of credctl.
///
/// The buffers of requests and replies are wiped before it ends. The kernel frees the copies that
/// parsing made. Until then, no other process of the user can read or dump this memory.
@main enum Program {
  static func main() {
    credd_swift_started()
    credd_harden_client()
    let arguments = CommandLine.arguments.dropFirst()
    do {
      let profile = DefaultProfile.named(environment: Environment.value(of:))
      let isDone = try GetArguments.read(arguments, profile: profile, get)
      if !isDone { try Credctl.run(Array(arguments)) }
      exit(Sysexit.success.code)
    } catch {
      if EvaluatedOutput.isExpected(of: arguments) {
        StandardStream.output.report(EvaluatedOutput.ofFailure)
      }
      StandardStream.error.report(error.isOfDefaultProfile ? withCommands(error).line : error.line)
      exit(error.status.code)
    }
  }

  /// Names the profiles that are open to the user, if credd answers at once.
  private static func withCommands(_ failure: Failure) -> Failure {
    let words = CommandLine.arguments
    let line = TypedLine(words, before: words.count)
    guard let verb = line.words.first,
      let answer = try? Client(socketArgument: line.socket).profiles(seconds: 1)
    else { return failure }
    let isNamed =
      line.namesProfile || line.words.count > 1
      || DefaultProfile.named(environment: Environment.value(of:)) != nil
    return failure.naming(answer.reply, for: verb, isNamed: isNamed)
  }

  /// Runs `get`, without ArgumentParser and Foundation.
  static func get(_ options: GetOptions) throws(Failure) {
    try Client(socketArgument: options.socket).credentials(options).print()
  }
}
