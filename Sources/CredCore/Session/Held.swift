/// All that a session holds of its user.
///
/// The machine changes it, a refused sign-in restores the value from before, and a snapshot stores
/// it. A new field is rolled back and compared without further code; only its coding must be added.
struct Held: Sendable, Equatable {
  var state = SignInState.signedOut(byUser: false)
  /// Whether no backend may see the IdentityId: a client brought it with a token, or a former backend
  /// gave it. If a backend got it as the user's own, it would link the user with it. The field
  /// stands here, because behind `state` it takes no room.
  var isIdentityWithheld = false
  /// Whether the credentials came with another identity than the present one. They are valid, but nothing
  /// is derived from them.
  var areCredentialsOfFormer = false
  /// Whether the identity is a guest's who has signed in since, and Cognito has not yet taken it for the
  /// user's: another one may take its place.
  var isIdentityOfGuest = false
  var identityID: IdentityID? {
    didSet {
      if oldValue != identityID { isIdentityOfGuest = false }
      endedLogins.identityChanged(from: oldValue, to: identityID)
      if credentials != nil, oldValue.map({ $0 != identityID }) ?? false {
        areCredentialsOfFormer = true
      }
    }
  }
  var logins = LoginsMap()
  /// Whose the logins of this identity were that have ended; of the last one while there is none.
  var endedLogins = EndedLogins()
  var loginExpirations = LoginExpirations()
  var token: HeldToken?
  /// The sign-in at a provider that the backend links to its user.
  var link: ProviderSession?
  var credentials: HeldCredentials? {
    didSet {
      areCredentialsOfFormer = false
      if credentials != nil { isIdentityOfGuest = false }
    }
  }
  /// The name of a user who signed in with a password.
  var username: String?
  /// The role that a `login` chose.
  @Boxed var customRoleARN: String? = nil
  /// Counts failures until a refresh succeeds.
  var backOff = BackOff()
  /// The pause after a failed refresh. While the next refresh is under way, the pause has ended; if
  /// that refresh is interrupted, another one starts at once.
  @Boxed var pause: Pause? = nil

  /// The IdentityId for callbacks to the backend.
  var identityForBackend: IdentityID? { isIdentityWithheld ? nil : identityID }

  /// Drops everything that the former backend gave. Credentials stay, because Cognito gave them.
  /// The new backend gives the next token; it does not know a user's session at the former one.
  mutating func leaveBackend() {
    switch state {
    case .signedIn(.password), .tokensInvalid(.password):
      let nothing = BackendSession(token: Secret([]), developerUserIdentifier: nil)
      state = .tokensInvalid(.password(nothing))
    case .signedIn(.provider(let session)), .tokensInvalid(.provider(let session)):
      state = .tokensInvalid(.provider(session.withoutTokens))
    case .signedIn(.host), .tokensInvalid(.host): break
    // The tokens and the identity are the client's own, or Cognito's.
    case .signedIn, .tokensInvalid, .signedOut, .guest: return
    }
    token = nil
    isIdentityWithheld = identityID != nil
    backOff = BackOff()
    pause = nil
  }

  /// Drops the access tokens of the sign-ins. They are kept only if programs may have them.
  mutating func dropAccessTokens() {
    switch state {
    case .signedIn(.provider(let session)) where session.accessToken != nil:
      state = .signedIn(.provider(session.keeping(id: true, access: false)))
    default: break
    }
    if let session = link, session.accessToken != nil {
      link = session.keeping(id: true, access: false)
    }
  }

  /// Whether a caller asked after what is held was received: credentials, or the tokens of a provider.
  func isInUse(lastAsked: Instant) -> Bool {
    (credentials?.received ?? state.providerSession?.idToken?.received).map { lastAsked > $0 }
      ?? false
  }
}

/// When the tokens that a client brought expire, by provider. It has no entry for a token that does
/// not say when it expires.
struct LoginExpirations: Sendable, Equatable {
  /// How long before its end a warning is announced.
  static let warning: Duration = .seconds(5 * 60)

  struct End: Sendable, Equatable {
    let time: Instant
    /// Whether the warning was announced.
    var isAnnounced = false
  }

  private(set) var ends: [String: End] = [:]

  init(_ ends: [String: End] = [:]) {
    self.ends = ends
  }

  /// Sets the end of a provider's new token.
  ///
  /// - Parameter end: nil if the token does not say. An end in the past is ignored: this host's
  ///   clock may be wrong, and Cognito decides.
  mutating func set(_ provider: String, end: Instant?, now: Instant) {
    ends[provider] = end.flatMap { $0 > now ? End(time: $0) : nil }
  }

  mutating func remove(_ provider: String) {
    ends[provider] = nil
  }

  mutating func removeAll() {
    ends = [:]
  }

  /// Providers whose token has expired.
  func expired(at now: Instant) -> [String] {
    ends.filter { $0.value.time <= now }.keys.sorted()
  }

  /// When the next warning is due.
  var nextWarning: Instant? {
    ends.values.filter { !$0.isAnnounced }.map { $0.time - Self.warning }.min()
  }

  /// The warnings that are due, each once.
  mutating func takeWarnings(at now: Instant) -> [(provider: String, end: Instant)] {
    let due = ends.filter { !$0.value.isAnnounced && $0.value.time - Self.warning <= now }
    for provider in due.keys { ends[provider]?.isAnnounced = true }
    return due.map { ($0.key, $0.value.time) }.sorted { $0.end < $1.end }
  }
}
