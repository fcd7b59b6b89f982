import ArgumentParser
import CredCore
import CredctlKit

struct Login: SessionVerb {
  static let configuration = CommandConfiguration(
    abstract:
      "Sign in: by this host, a browser, a device code, a password, a token, other providers' tokens.",
    discussion: """
      Without other options it does what the profile is made for. It signs in by the host's own word \
      where the backend trusts the host, which also ends an earlier 'credctl logout'; it opens a \
      browser, or over ssh shows a code to type on another device, or a link to open elsewhere, where \
      users sign in at a provider; else it asks for the password on the terminal. \
      A user pool may ask for more: a code, a new password, a choice. Without a terminal the \
      sign-in then stays open for 'credctl respond', and the exit status is 77. \
      Secrets are never taken from the command line, where every user of the host could read them.

        credctl login --profile work
        credctl login --profile work --browser
        credctl login --profile work --paste     (over ssh: a browser elsewhere)
        credctl login --profile work --device    (a code to type on a phone)
        credctl login --profile work --username alice
        credctl login work --username alice --login facebook=@facebook.token
        backend-cli token | credctl login --identity-id us-east-1:… --token-stdin
        credctl login --login google=@/run/user/1000/google.jwt
      """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var format: JSONFlag

  var profile: String { selection.name }

  @OptionGroup(title: "Sign-in by browser or device") var elsewhere: ElsewhereOptions

  @Option(help: "The user's name at the backend; else $USER.")
  var username: String?

  @OptionGroup var qrCode: QRCodeOption

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
      Short names: facebook, google, amazon, apple, twitter. Beside '--username' the backend links \
      it to that user.
      """,
      valueName: "provider=source"))
  var login: [String] = []

  @Flag(help: "With '--login': replace the present sign-in, and link to nothing.")
  var alone = false

  @Option(help: ArgumentHelp("The role, for a SAML token that carries several.", valueName: "arn"))
  var customRoleArn: String?

  @OptionGroup var metadata: ClientMetadataOption

  @Flag(help: TrustSocket.help)
  var trustSocket = false

  func validate() throws {
    _ = try metadata.entries
    let hasIdentity = identityId != nil && login.isEmpty
    let hasPassword = username != nil || passwordStdin
    let means = [
      hasPassword, hasIdentity || tokenStdin, !login.isEmpty && !hasPassword, elsewhere.isGiven,
    ]
    guard means.count(where: { $0 }) <= 1 else {
      throw ValidationError(
        "give a browser, a device code, a password, a developer token, or '--login', not several; "
          + "'--login' may stand beside a password")
    }
    guard !hasPassword || login.isEmpty || identityId == nil && !alone else {
      throw ValidationError(
        "beside a password '--login' takes no '--identity-id' and no '--alone': the backend links")
    }
    guard !passwordStdin || !login.contains(where: { $0.hasSuffix("=-") }) else {
      throw ValidationError("standard input has the password: give the token as PROVIDER=@FILE")
    }
    guard hasIdentity == tokenStdin else {
      throw ValidationError("a developer token takes both '--identity-id' and '--token-stdin'")
    }
    guard !alone || !login.isEmpty else {
      throw ValidationError("'--alone' goes with '--login'")
    }
  }

  func run() throws {
    if !login.isEmpty, username != nil || passwordStdin {
      // A name alone is for user pools, which link nothing.
      try signInWithPassword(UserName.given(username), linking: providerTokens())
    } else if let identityId, login.isEmpty {
      let token = try SecretText.token(SecretInput.standardInput(), name: "token")
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
    } else if elsewhere.isGiven {
      try signInElsewhere(elsewhere.way)
    } else {
      try signInByHost()
    }
  }

  /// Only the daemon knows whether the profile's backend trusts this host, so credctl asks the
  /// daemon first.
  private func signInByHost() throws(Failure) {
    do {
      try signIn(hasSecret: false) { _ in }
    } catch {
      guard error.wantsMore else { throw error }
      if let way = (try? offer())?.way(
        canOpen: !BrowserHost.commands(nil).isEmpty, isRemote: BrowserHost.isRemote)
      {
        return try signInElsewhere(way)
      }
      guard error.wantsPassword else { throw error }
      try signInByName()
    }
  }

  // MARK: Elsewhere

  /// The ways to sign in to the profile; nil if it is not open to this user.
  private func offer() throws(Failure) -> SignInOffer? {
    var request = RequestLine(operation: "status")
    request.add("profiles", true)
    request.add("limit", 1)
    return SignInOffer(
      try client.ask(request.finished(), for: .profiles).reply, profile: profile)
  }

  /// - Parameter way: the way to sign in; nil for the way that fits the profile and this host.
  private func signInElsewhere(_ way: SignInOffer.Way?) throws(Failure) {
    let commands = BrowserHost.commands(elsewhere.browserCommand)
    // If the user asks for a browser, it is opened even if the user sits at another host.
    let offer = try offer()
    let way =
      way ?? offer?.way(canOpen: !commands.isEmpty, isRemote: BrowserHost.isRemote) ?? .browser
    guard way != .device else {
      return try signIn(hasSecret: false) { $0.add("device", true) }
    }
    let means = try browserMeans(way, offer, commands)
    var wishes = elsewhere.wishes
    wishes.redirectURI = means.listener?.redirectURI
    try signIn(hasSecret: false, browser: means) { $0.add(wishes) }
  }

  /// Listens before anything else, so that an opened browser finds the listener.
  private func browserMeans(
    _ way: SignInOffer.Way, _ offer: SignInOffer?, _ commands: [BrowserCommand]
  ) throws(Failure) -> BrowserMeans {
    // Without a terminal, nobody would see a browser page that was not asked for.
    let isWanted = elsewhere.browser
    let opens = way == .browser && (isWanted || Terminal.isThere)
    // If nobody waits, there is no listener: the sign-in goes on by 'credctl respond'.
    guard opens || Terminal.isThere else {
      return BrowserMeans(listener: nil, commands: [], isWanted: false)
    }
    do throws(BrowserListener.Trouble) {
      return BrowserMeans(
        listener: try BrowserListener.open(offer?.redirectURIs ?? []),
        commands: opens ? commands : [], isWanted: isWanted)
    } catch {
      // The daemon's refusal says that the profile does not offer this.
      if offer?.ways.isEmpty ?? true {
        return BrowserMeans(listener: nil, commands: [], isWanted: false)
      }
      guard way == .paste else { throw Failure(.unavailable, error.message) }
      // A browser on this host would bring the code to the program that listens there.
      if case .taken = error {
        try Terminal().show("Warning: \(PlainText.oneLine(error.message)).\n")
      }
      return BrowserMeans(listener: nil, commands: [], isWanted: false)
    }
  }

  /// A user pool may ask for something other than a password. For other backends, the daemon
  /// refuses a name without a password, and sends nothing to a server.
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
  ///
  /// - Parameter tokens: of providers that the backend links to the user.
  private func signInWithPassword(
    _ name: String, linking tokens: [(provider: String, token: Secret)] = []
  ) throws(Failure) {
    var attemptsLeft = passwordStdin ? 1 : Self.attempts
    while true {
      attemptsLeft -= 1
      let password = try password(of: name)
      do throws(Failure) {
        return try signIn { request in
          request.add("username", name)
          request.add("password", password)
          if !tokens.isEmpty { request.add("logins", tokens) }
        }
      } catch {
        guard error.isRefusedPassword, attemptsLeft > 0 else { throw error }
        try Terminal().show(error.line)
      }
    }
  }

  private static let attempts = 3

  private func signIn(
    hasSecret: Bool = true, browser: BrowserMeans? = nil, with add: (inout RequestLine) -> Void
  ) throws(Failure) {
    do throws(Failure) {
      try signInOnce(hasSecret, browser, add)
    } catch {
      throw error.advising(username: UserName.known(username), profile: profile)
    }
  }

  private func signInOnce(
    _ hasSecret: Bool, _ browser: BrowserMeans?, _ add: (inout RequestLine) -> Void
  ) throws(Failure) {
    var request = RequestLine(operation: "login", profile: profile)
    add(&request)
    if let customRoleArn { request.add("custom_role_arn", customRoleArn) }
    request.add(metadata: try metadata.entries)
    let delivery: SecretDelivery = trustSocket ? .toAnyListener : .toKnownListener
    let first = try client.ask(
      request.finished(), for: .session, profile: profile, seconds: WaitLimits.upstream,
      secret: hasSecret ? delivery : .none)
    var conversation = Conversation(
      client: client, profile: profile, username: UserName.known(username) ?? "you",
      secret: delivery, hasCodeOnInput: codeStdin, showsJSON: format.json, hasQRCode: !qrCode.noQr,
      browser: browser)
    let last = try conversation.finish(first)
    try showSession(last)
    try showEnd(of: last)
  }

  /// If the provider gave no refresh token, the sign-in cannot be renewed: the user is told at
  /// once.
  private func showEnd(of answer: Answer) throws(Failure) {
    guard !format.json, elsewhere.isGiven || answer.reply["SignedInBy"]?.text == "oidc",
      let end = answer.reply["SignedInUntil"]?.text, Terminal.isThere
    else { return }
    try Terminal().show(
      "This sign-in ends at \(PlainText.oneLine(end)): the provider gave no refresh token (see scopes "
        + "in credd.conf(5)).\n")
  }

  private func password(of name: String) throws(Failure) -> Secret {
    if passwordStdin {
      return try SecretText.password(codeStdin ? SecretInput.line() : SecretInput.standardInput())
    }
    let prompt = "Password of \(name) for profile \(profile): "
    return try SecretText.password(Terminal().secret(prompt: prompt).bytes)
  }

  private func providerTokens() throws(Failure) -> [(provider: String, token: Secret)] {
    var tokens: [(provider: String, token: Secret)] = []
    for source in try LoginSource.list(login) {
      let name = "token of \(source.provider)"
      let bytes: [UInt8]
      switch source.origin {
      case .standardInput: bytes = try SecretInput.standardInput()
      case .file(let path): bytes = try SecretInput.contents(ofFile: path)
      }
      tokens.append((source.provider, try SecretText.token(bytes, name: name)))
    }
    return tokens
  }
}

/// The user's name at a backend.
enum UserName {
  /// The name on the command line, else the name in the environment.
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

/// The options of a sign-in that goes on in a browser.
struct ElsewhereOptions: ParsableArguments {
  @Flag(help: "Sign in with a browser on this host.")
  var browser = false

  @Flag(
    name: [.customLong("paste"), .customLong("no-browser")],
    help:
      "Sign in with a browser anywhere: open the link that is shown, and paste the address at which it ends."
  )
  var paste = false

  @Flag(
    name: [.customLong("device"), .customLong("use-device-code")],
    help: "Sign in by a code that you type on another device.")
  var device = false

  @Option(
    help: ArgumentHelp(
      "With a browser: the provider at which a user pool signs you in.", valueName: "name"))
  var provider: String?

  @Option(
    help: ArgumentHelp(
      "With a browser: ask only for this one of the profile's scopes; repeatable.",
      valueName: "scope"))
  var scope: [String] = []

  @Flag(
    name: .customLong("private"),
    help: "With a browser: let the provider ask for your password again.")
  var isPrivate = false

  @Option(
    help: ArgumentHelp(
      "What opens the browser, '%s' for the link; else $BROWSER, else the desktop's.",
      valueName: "command"),
    completion: Completion.program)
  var browserCommand: String?

  var isGiven: Bool { browser || paste || device || hasWishes }

  /// The chosen way; nil if the profile decides.
  var way: SignInOffer.Way? {
    paste ? .paste : device ? .device : browser || browserCommand != nil ? .browser : nil
  }

  var wishes: BrowserWishes {
    var wishes = BrowserWishes()
    wishes.identityProvider = provider
    wishes.asksAnew = isPrivate
    wishes.scopes = scope
    return wishes
  }

  private var hasWishes: Bool {
    provider != nil || !scope.isEmpty || isPrivate || browserCommand != nil
  }

  func validate() throws {
    guard [browser, paste, device].count(where: { $0 }) <= 1 else {
      throw ValidationError("give one of '--browser', '--paste' and '--device'")
    }
    guard !device || !hasWishes else {
      throw ValidationError("'--device' takes no option of a browser")
    }
    guard !paste || browserCommand == nil else {
      throw ValidationError("'--paste' opens no browser: it takes no '--browser-command'")
    }
  }
}
