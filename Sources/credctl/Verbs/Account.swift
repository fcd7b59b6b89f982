import ArgumentParser
import CredCore
import CredctlKit

struct Account: Verb {
  static let configuration = CommandConfiguration(
    abstract: "Do something with your account at the backend: make one (sign-up).",
    usage: "credctl account [<profile>] sign-up [--username <name>] [--password-stdin] ...",
    discussion: """
      The password is asked for on the terminal, twice, or read from standard input. Values of \
      attributes may be secret, so they come from files or standard input.

        credctl account work sign-up --username alice
        credctl account sign-up --username alice --attribute Invitation=@/run/user/1000/invitation
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var format: JSONFlag

  @Option(name: [.customShort("p"), .customLong("profile")], help: ProfileOption.help)
  var option: String?

  // Two arguments, of which the first may be left out, are one list to ArgumentParser.
  @Argument(help: ArgumentHelp("The profile; and the action: sign-up.", valueName: "words"))
  var words: [String]

  @Option(help: "The name of the account; else $USER.")
  var username: String?

  @Flag(help: "Read the password from standard input: its first line.")
  var passwordStdin = false

  @Option(
    help: ArgumentHelp(
      "An attribute of the account, from a file (NAME=@FILE); repeatable.",
      valueName: "name=@file"))
  var attribute: [String] = []

  @Flag(
    help: "Send the secret also where this user namespace does not show who listens at the socket.")
  var trustSocket = false

  private var named: String? { words.count > 1 ? words.first : nil }

  private var profile: String {
    named ?? option ?? DefaultProfile.name(environment: Environment.value(of:))
  }

  func validate() throws {
    guard (1...2).contains(words.count) else {
      throw ValidationError("say what to do, such as 'sign-up', after the profile")
    }
    guard named == nil || option == nil else { throw ValidationError(DefaultProfile.namedTwice) }
  }

  func run() throws {
    var request = RequestLine(operation: "account", profile: profile)
    let action = words.last ?? ""
    request.add("action", action)
    // The daemon names actions that the backend does not offer. It needs no password for that.
    if action == AccountAction.signUp.rawValue { try addAccount(to: &request) }
    let answer = try client.ask(
      request.finished(), for: .account, profile: profile, seconds: WaitLimits.upstream,
      secret: trustSocket ? .toAnyListener : .toKnownListener)
    guard !format.json else { return try answer.print() }
    try StandardStream.output.write(answer.signedUp + "\n")
  }

  private func addAccount(to request: inout RequestLine) throws(Failure) {
    let name = try UserName.given(username)
    let attributes = try attributes()
    request.add("username", name)
    request.add("password", try password(of: name))
    if !attributes.isEmpty { request.add("attributes", attributes) }
  }

  private func password(of name: String) throws(Failure) -> Secret {
    guard !passwordStdin else { return try SecretText.password(SecretFile.standardInput()) }
    let terminal = try Terminal()
    let first = try SecretText.password(
      terminal.password(prompt: "New password of \(name) for profile \(profile): ").bytes)
    let second = try SecretText.password(terminal.password(prompt: "The same again: ").bytes)
    guard first == second else { throw Failure(.usage, "the two passwords differ") }
    return first
  }

  private func attributes() throws(Failure) -> [(provider: String, token: Secret)] {
    var attributes: [(provider: String, token: Secret)] = []
    for source in try LoginSource.list(attribute, option: "--attribute", most: 50) {
      let bytes: [UInt8]
      switch source.place {
      case .standardInput:
        guard !passwordStdin else {
          throw Failure(.usage, "standard input has the password already")
        }
        bytes = try SecretFile.standardInput()
      case .file(let path): bytes = try SecretFile.contents(ofFile: path)
      }
      attributes.append((source.provider, try SecretText.token(bytes, name: source.provider)))
    }
    return attributes
  }
}
