import ArgumentParser
import CredctlKit

struct Identity: SessionVerb {
  static let configuration = CommandConfiguration(
    abstract: "Show the session's state, its IdentityId, and who is signed in; asks no server.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var format: JSONFlag

  var profile: String { selection.name }

  func run() throws {
    try showSession(
      RequestLine(operation: "identity", profile: selection.named), seconds: WaitLimits.margin)
  }
}

struct Logout: SessionVerb {
  static let configuration = CommandConfiguration(
    abstract: "Sign out: forget tokens, credentials, logins and the identity.",
    discussion: """
      The session stays signed out until the next 'credctl login'. A browser may still be signed in at \
      the provider: where it has a page that ends that, credctl shows its address.
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var format: JSONFlag

  var profile: String { selection.name }

  @Flag(help: "Tell the organisation's server too.")
  var global = false

  @Flag(name: .customLong("no-revoke"), help: "Do not revoke refresh tokens at their issuer.")
  var keepsTokens = false

  @Flag(help: "End the browser's session at the user pool too, through which the sign-in came.")
  var sso = false

  @Flag(help: "Open the provider's page that signs the browser out too.")
  var browser = false

  func validate() throws {
    guard !sso || !keepsTokens else {
      throw ValidationError("'--sso' and '--no-revoke' exclude each other")
    }
  }

  func run() throws {
    var request = RequestLine(operation: "logout", profile: profile)
    if global { request.add("global", true) }
    if keepsTokens { request.add("revoke", false) }
    if sso { request.add("sso", true) }
    let answer = try client.ask(
      request.finished(), for: .session, profile: profile, seconds: WaitLimits.upstream)
    try showSession(answer)
    if let url = LogoutPage.url(in: answer.reply) { return try showPage(url) }
    if browser { throw LogoutPage.missing }
  }

  /// The page ends the browser's own session: otherwise the next sign-in would be the same user's.
  private func showPage(_ url: String) throws(Failure) {
    if browser, BrowserProgram.start(BrowserHost.commands(nil), url) != nil { return }
    guard !format.json, Terminal.isThere else {
      if browser { throw LogoutPage.unopened(url) }
      return
    }
    try Terminal().show("To sign the browser out too, open:\n\n  \(url)\n")
  }
}

struct Clear: SessionVerb {
  enum Part: String, ExpressibleByArgument, CaseIterable {
    case credentials
    case identity
  }

  static let configuration = CommandConfiguration(
    abstract: "Forget a session's credentials, or its identity too; the next get fetches anew.",
    usage: "credctl clear [<profile>] credentials|identity [--profile <profile>] [--json]")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var format: JSONFlag

  @Option(
    name: [.customShort("p"), .customLong("profile")], help: ProfileOption.help,
    completion: Completion.profileOption)
  var option: String?

  // For ArgumentParser, two arguments of which the first is optional are one list.
  @Argument(
    help: ArgumentHelp(
      "The profile; and credentials (keeps the identity) or identity (forgets both).",
      valueName: "words"),
    completion: Completion.cleared)
  var words: [String]

  private var named: String? { words.count > 1 ? words.first : nil }

  var profile: String {
    named ?? option ?? DefaultProfile.name(environment: Environment.value(of:))
  }

  func validate() throws {
    guard words.count <= 2, let what = words.last, Part(argument: what) != nil else {
      throw ValidationError("say what to clear, 'credentials' or 'identity', after the profile")
    }
    guard named == nil || option == nil else { throw ValidationError(DefaultProfile.namedTwice) }
  }

  func run() throws {
    var request = RequestLine(operation: "clear", profile: profile)
    if let what = words.last { request.add("what", what) }
    try showSession(request, seconds: WaitLimits.margin)
  }
}

struct Release: SessionVerb {
  static let configuration = CommandConfiguration(
    abstract: "End the wait of callers that wait for a sign-in: they get an error now.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var format: JSONFlag

  var profile: String { selection.name }

  func run() throws {
    let request = RequestLine(operation: "release", profile: profile)
    let answer = try client.ask(request.finished(), for: .released, profile: profile)
    guard !format.json else { return try answer.print() }
    try StandardStream.output.write("\(answer.text("Profile")): \(answer.released) released\n")
  }
}
