import ArgumentParser
import CredCore
import CredctlKit

extension Credctl {
  static let configuration = CommandConfiguration(
    commandName: "credctl",
    abstract: "Get AWS credentials from credd, and see and steer its sessions.",
    discussion: """
      credd keeps one session for each user and profile, and renews its credentials. In \
      ~/.aws/config:

        [profile work]
        credential_process = /usr/bin/credctl get --profile work

      The profile of a verb is its first word, or '-p NAME'; else $CREDD_PROFILE, else 'default'.

      Exit status: 0 done; 64 wrong usage; 65 a given file cannot be used; 69 credd or its \
      configuration is at fault; 74 output failed; 75 try again; 77 sign in first, or not \
      permitted; 130 Ctrl-C at a prompt.
      """,
    version: Version.current,
    subcommands: [
      Get.self, Token.self, Identity.self, Status.self, Profiles.self, Login.self, Respond.self,
      Logout.self, Account.self, Clear.self, Release.self, Watch.self, Exec.self, Env.self,
      EndpointVerb.self, Serve.self, Metrics.self, Check.self, Import.self, Ping.self,
    ])

  static func run(_ arguments: [String]) throws(Failure) {
    if let failure = unknownTopic(of: arguments) { throw failure }
    do {
      var command = try parseAsRoot(AccountArguments.inOrder(arguments))
      try command.run()
    } catch let failure as Failure {
      throw failure
    } catch {
      guard exitCode(for: error) == .success else {
        throw usageFailure(message(for: error), arguments)
      }
      // The user asked for help, the version or a completion script.
      try StandardStream.output.write(fullMessage(for: error) + "\n")
    }
  }

  /// ArgumentParser's message in credctl's form, with the nearest valid option or verb.
  private static func usageFailure(_ message: String, _ arguments: [String]) -> Failure {
    let first = message.split(separator: "\n").first.map(String.init) ?? "wrong usage"
    var text = first.hasSuffix(".") ? String(first.dropLast()) : first
    text = (text.prefix(1).lowercased() + text.dropFirst())
      .replacing(". Did you mean ", with: "; did you mean ")
    if let word = unknownVerb(in: arguments) { return unknown(word, among: verbs) }
    if let advice = longerOption(text, in: arguments) { return Failure(.usage, advice) }
    return Failure(.usage, text.hasSuffix("?") ? text : text + ": see 'credctl help'")
  }

  private static func unknown(_ word: String, among verbs: [String]) -> Failure {
    let near = NearestName.suggestion(word, in: verbs, otherwise: ": see 'credctl help'")
    return Failure(.usage, "there is no verb '\(word)'\(near)")
  }

  /// Of `help` with a word that is no verb, or no action: ArgumentParser would show some help, as if all
  /// were well.
  private static func unknownTopic(of arguments: [String]) -> Failure? {
    let words = afterSocket(arguments).prefix { !$0.hasPrefix("-") }
    guard words.first == "help", let verb = words.dropFirst().first else { return nil }
    guard verbs.contains(verb) else { return unknown(verb, among: verbs) }
    guard verb == "account", let action = words.dropFirst(2).first,
      !AccountArguments.actions.contains(action)
    else { return nil }
    return AccountArguments.unknown(action)
  }

  /// The message about an unknown option with the verb's one option that begins so, as `--username` does
  /// with `--user`; ArgumentParser suggests the one with the fewest other letters.
  private static func longerOption(_ text: String, in arguments: [String]) -> String? {
    let parts = text.split(separator: "'", omittingEmptySubsequences: false)
    guard parts.count > 2, parts[0] == "unknown option ", parts[1].hasPrefix("--"),
      let verb = command(of: arguments)
    else { return nil }
    let options = Set(helpMessage(for: verb).split { " ,[]\n".contains($0) })
    let longer = options.filter { $0.hasPrefix(parts[1]) }
    guard let option = longer.first, longer.count == 1 else { return nil }
    return "unknown option '\(parts[1])'; did you mean '\(option)'?"
  }

  /// The verb that the arguments name, or its action.
  private static func command(of arguments: [String]) -> (any ParsableCommand.Type)? {
    let words = afterSocket((try? AccountArguments.inOrder(arguments)) ?? arguments)
    guard let verb = words.first.flatMap({ subcommand($0, of: Credctl.self) }) else { return nil }
    return words.dropFirst().first.flatMap { subcommand($0, of: verb) } ?? verb
  }

  private static func subcommand(
    _ name: String, of command: any ParsableCommand.Type
  ) -> (any ParsableCommand.Type)? {
    command.configuration.subcommands.first { self.name(of: $0) == name }
  }

  private static func name(of command: any ParsableCommand.Type) -> String {
    command.configuration.commandName ?? "\(command)".lowercased()
  }

  private static var verbs: [String] {
    configuration.subcommands.map(name(of:)) + ["help"]
  }

  /// The first word, if it is no verb.
  private static func unknownVerb(in arguments: [String]) -> String? {
    guard let word = afterSocket(arguments).first, !word.hasPrefix("-"), !verbs.contains(word)
    else { return nil }
    return word
  }

  private static func afterSocket(_ arguments: [String]) -> ArraySlice<String> {
    var rest = arguments[...]
    while let word = rest.first, word == "--socket" || word.hasPrefix("--socket=") {
      rest = rest.dropFirst(word == "--socket" ? 2 : 1)
    }
    return rest
  }
}
