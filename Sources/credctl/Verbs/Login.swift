import ArgumentParser
import CredCore
import CredctlKit

struct Login: SessionVerb {
  static let configuration = CommandConfiguration(
    abstract: "Sign in: by this host, a password, a developer token, or other providers' tokens.",
    discussion: """
      Without other options it signs in by the host's own word where the backend trusts the host, \
      which also ends an earlier 'credctl logout'; else it asks for the password on the terminal. \
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

  @Flag(
    help: "Send the secret also where this user namespace does not show who listens at the socket.")
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
    } else if username != nil || passwordStdin {
      try signInWithPassword()
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
      try signInWithPassword()
    }
  }

  private func signInWithPassword() throws(Failure) {
    let name = try UserName.given(username)
    let password = try password(of: name)
    try signIn { request in
      request.add("username", name)
      request.add("password", password)
    }
  }

  private func signIn(
    hasSecret: Bool = true, with add: (inout RequestLine) -> Void
  ) throws(Failure) {
    var request = RequestLine(operation: "login", profile: profile)
    add(&request)
    if let customRoleArn { request.add("custom_role_arn", customRoleArn) }
    let delivery: SecretDelivery = trustSocket ? .toAnyListener : .toKnownListener
    try showSession(
      request, seconds: WaitLimits.upstream, secret: hasSecret ? delivery : .none)
  }

  private func password(of name: String) throws(Failure) -> Secret {
    guard !passwordStdin else { return try SecretText.password(SecretFile.standardInput()) }
    let prompt = "Password of \(name) for profile \(profile): "
    return try SecretText.password(Terminal().password(prompt: prompt).bytes)
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
    let names = [username, Environment.value(of: "USER"), Environment.value(of: "LOGNAME")]
    guard let name = names.compactMap({ $0 }).first(where: { !$0.isEmpty }) else {
      throw Failure(.usage, "no user name: use '--username'")
    }
    return name
  }
}
