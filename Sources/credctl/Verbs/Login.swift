import ArgumentParser
import CredCore
import CredctlKit

struct Login: SessionVerb {
  static let configuration = CommandConfiguration(
    abstract: "Sign in: by this host, a password, a developer token, or other providers' tokens.",
    discussion: """
      Without other options it signs in by the host's own word where the backend trusts the host, \
      which also ends an earlier 'credctl logout'; else it asks for the password on the terminal. \
      A user pool may ask for more: a code, a new password, a choice. Without a terminal the \
      sign-in then stays open for 'credctl respond', and the exit status is 77. \
      Secrets are never taken from the command line, where every user of the host could read them.

        credctl login --profile work
        credctl login --profile work --username alice
        backend-cli token | credctl login --identity-id us-east-1:… --token-stdin
        credctl login --login google=@/run/user/1000/google.jwt
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var format: JSONFlag

  var profile: String { selection.name }

  @Option(help: "The user's name at the backend; else $USER.")
  var username: String?

  @Flag(help: "Read the password from standard input: its first line.")
  var passwordStdin = false

  @Flag(
    help:
      "Read the code that a user pool asks for from standard input: a line, after the password's."
  )
  var codeStdin = false

  @Option(
    help: ArgumentHelp(
      "The IdentityId of a developer token, or one that you chose for '--login'.", valueName: "id"))
  var identityId: String?

  @Flag(help: "Read the developer token from standard input.")
  var tokenStdin = false

  @Option(
    help: ArgumentHelp(
      """
      A provider's token, from a file (PROVIDER=@FILE) or standard input (PROVIDER=-); repeatable. \
      Short names: facebook, google, amazon, apple.
      """,
      valueName: "provider=source"))
  var login: [String] = []

  @Flag(help: "With '--login': replace whatever is there, and link with nothing.")
  var alone = false

  @Option(help: ArgumentHelp("The role, for a SAML token that carries several.", valueName: "arn"))
  var customRoleArn: String?

  @Flag(help: TrustSocket.help)
  var trustSocket = false

  func validate() throws {
    let hasIdentity = identityId != nil && login.isEmpty
    let means = [username != nil || passwordStdin, hasIdentity || tokenStdin, !login.isEmpty]
    guard means.count(where: { $0 }) <= 1 else {
      throw ValidationError("give a password, a developer token, or '--login', not several")
    }
    guard hasIdentity == tokenStdin else {
      throw ValidationError("a developer token takes both '--identity-id' and '--token-stdin'")
    }
    guard !alone || !login.isEmpty else {
      throw ValidationError("'--alone' goes with '--login'")
    }
  }

  func run() throws {
    if let identityId, login.isEmpty {
      let token = try SecretText.token(SecretFile.standardInput(), name: "token")
      try signIn { request in
        request.add("identity_id", identityId)
        request.add("token", token)
      }
    } else if !login.isEmpty {
      let tokens = try providerTokens()
      try signIn { request in
        request.add("logins", tokens)
        if let identityId { request.add("identity_id", identityId) }
        if alone { request.add("alone", true) }
      }
    } else if passwordStdin {
      try signInWithPassword(UserName.given(username))
    } else if username != nil {
      try signInByName()
    } else {
      try signInByHost()
    }
  }

  /// The daemon alone knows whether the profile's backend trusts this host, so credctl asks it first.
  private func signInByHost() throws(Failure) {
    do {
      try signIn(hasSecret: false) { _ in }
    } catch {
      guard error.wantsPassword else { throw error }
      try signInByName()
    }
  }

  /// A user pool may ask for something else than a password. All others refuse a name alone, and the
  /// daemon tells no server of it.
  private func signInByName() throws(Failure) {
    let name = try UserName.given(username)
    do {
      try signIn(hasSecret: false) { $0.add("username", name) }
    } catch {
      guard error.wantsMore else { throw error }
      try signInWithPassword(name)
    }
  }

  /// What was typed at the terminal may be typed again, as at other logins of a host.
  private func signInWithPassword(_ name: String) throws(Failure) {
    var attemptsLeft = passwordStdin ? 1 : Self.attempts
    while true {
      attemptsLeft -= 1
      let password = try password(of: name)
      do throws(Failure) {
        return try signIn { request in
          request.add("username", name)
          request.add("password", password)
        }
      } catch {
        guard error.isRefusedPassword, attemptsLeft > 0 else { throw error }
        try Terminal().show(error.line)
      }
    }
  }

  private static let attempts = 3

  private func signIn(
    hasSecret: Bool = true, with add: (inout RequestLine) -> Void
  ) throws(Failure) {
    var request = RequestLine(operation: "login", profile: profile)
    add(&request)
    if let customRoleArn { request.add("custom_role_arn", customRoleArn) }
    let delivery: SecretDelivery = trustSocket ? .toAnyListener : .toKnownListener
    let first = try client.ask(
      request.finished(), for: .session, profile: profile, seconds: WaitLimits.upstream,
      secret: hasSecret ? delivery : .none)
    var conversation = Conversation(
      client: client, profile: profile, username: UserName.known(username) ?? "you",
      secret: delivery, hasCodeOnInput: codeStdin, showsJSON: format.json)
    try showSession(try conversation.finish(first))
  }

  private func password(of name: String) throws(Failure) -> Secret {
    if passwordStdin {
      return try SecretText.password(codeStdin ? SecretFile.line() : SecretFile.standardInput())
    }
    let prompt = "Password of \(name) for profile \(profile): "
    return try SecretText.password(Terminal().secret(prompt: prompt).bytes)
  }

  private func providerTokens() throws(Failure) -> [(provider: String, token: Secret)] {
    var tokens: [(provider: String, token: Secret)] = []
    for source in try LoginSource.list(login) {
      let name = "token of \(source.provider)"
      let bytes: [UInt8]
      switch source.place {
      case .standardInput: bytes = try SecretFile.standardInput()
      case .file(let path): bytes = try SecretFile.contents(ofFile: path)
      }
      tokens.append((source.provider, try SecretText.token(bytes, name: name)))
    }
    return tokens
  }
}

/// The user's name at a backend.
enum UserName {
  /// The name on the command line, else that of the environment.
  static func given(_ username: String?) throws(Failure) -> String {
    guard let name = known(username) else {
      throw Failure(.usage, "no user name: use '--username'")
    }
    return name
  }

  static func known(_ username: String?) -> String? {
    [username, Environment.value(of: "USER"), Environment.value(of: "LOGNAME")]
      .compactMap { $0 }.first { !$0.isEmpty }
  }
}
