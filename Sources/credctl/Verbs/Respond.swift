import ArgumentParser
import CredCore
import CredctlKit

struct Respond: Verb {
  static let configuration = CommandConfiguration(
    abstract: "Answer what a sign-in asks; for scripts, where 'credctl login' has no terminal.",
    usage: "credctl respond <handle> [<name>=<source> ...] [--answers-stdin] [--json]",
    discussion: """
      The handle and the names of the answers are those that 'credctl login --json' printed. Answers \
      come from a file (NAME=@FILE) or standard input (NAME=-); choice, name and confirm may stand \
      on the command line. Where the sign-in asks for more, the exit status is 77, and the handle is \
      a new one.

        oathtool --totp -b @secret | credctl respond 5f1c… code=-
        credctl respond 5f1c… choice=SMS_MFA
        credctl respond 5f1c… confirm=true
        credctl respond 5f1c… response=-   (the address at which a browser ended)
        credctl respond 5f1c… password=@new attributes.email=@email
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var format: JSONFlag

  @Argument(help: "The handle of the challenge.")
  var handle: String

  @Argument(
    help: ArgumentHelp(
      "An answer: from a file, from standard input, or, for a choice, itself.",
      valueName: "name=source"))
  var answers: [String] = []

  @Flag(help: "Read the answers from standard input, as a JSON object of names and texts.")
  var answersStdin = false

  @Option(
    help: ArgumentHelp(
      "Wait this long for what the user does elsewhere; 300 at most.", valueName: "seconds"))
  var wait: String?

  @Flag(help: "End the sign-in.")
  var cancel = false

  @OptionGroup var metadata: ClientMetadataOption

  @Flag(help: TrustSocket.help)
  var trustSocket = false

  func validate() throws {
    _ = try metadata.entries
    let ways = [!answers.isEmpty, answersStdin, wait != nil, cancel]
    guard ways.count(where: { $0 }) == 1 else {
      throw ValidationError("give answers, '--answers-stdin', '--wait' or '--cancel'")
    }
  }

  func run() throws {
    var request = RequestLine(operation: "respond")
    request.add("handle", handle)
    var seconds = WaitLimits.upstream
    if cancel {
      request.add("cancel", true)
    } else if let wait {
      let waiting = try Waiting(minimumLifetime: nil, wait: wait)
      waiting.add(to: &request)
      seconds = waiting.timeout
    } else {
      request.add(try given())
    }
    request.add(metadata: try metadata.entries)
    let answer = try client.ask(
      request.finished(), for: .session, seconds: seconds,
      secret: cancel || wait != nil ? .none : trustSocket ? .toAnyListener : .toKnownListener)
    guard let challenge = try Challenge(answer.reply) else { return try show(answer) }
    if format.json { try answer.print() }
    throw challenge.unanswered
  }

  private func show(_ answer: Answer) throws(Failure) {
    guard !format.json else { return try answer.print() }
    try StandardStream.output.write(answer.session)
  }

  private func given() throws(Failure) -> Answers {
    guard !answersStdin else { return try Answers(json: SecretInput.standardInput()) }
    var given = Answers()
    for source in try AnswerSource.list(answers) {
      let text: Secret
      switch source.origin {
      case .value(let value): text = Secret(value)
      case .standardInput: text = try Self.text(SecretInput.standardInput(), of: source)
      case .file(let path): text = try Self.text(SecretInput.contents(ofFile: path), of: source)
      }
      given.add(source.name, text, isAttribute: source.isAttribute)
    }
    return given
  }

  /// Spaces belong to a password.
  private static func text(
    _ bytes: [UInt8], of source: AnswerSource
  ) throws(Failure) -> Secret {
    guard source.name != "password" || source.isAttribute else {
      return try SecretText.password(bytes)
    }
    let text = try SecretText.token(bytes, name: source.name)
    return source.name == "response" && !source.isAttribute ? text.queryOfAddress : text
  }
}

/// `--client-metadata`.
struct ClientMetadataOption: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A text for the triggers of the user pool, if the backend's client_metadata allows it; "
        + "repeatable.", valueName: "name=value"))
  var clientMetadata: [String] = []

  var entries: [(name: String, text: Secret)] {
    get throws(Failure) { try MetadataOption.entries(clientMetadata) }
  }
}

/// `--trust-socket`.
enum TrustSocket {
  static let help: ArgumentHelp =
    "Send the secret even if this user namespace does not show who listens at the socket."
}
