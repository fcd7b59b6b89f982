/// One refresh under way: a chain of upstream calls, one at a time.
///
/// A step is taken only if it is needed, and a refresh goes on to the right:
///
///     with a backend         checkPassword ─► readFile ─► renewLink ─► callback ─► exchange
///     with logins, or none   readFile ─► exchange ◄─► proveLogin
///     with a provider        renewTokens ─► exchange ◄─► proveLogin
///     of a derived profile   askSource ─► derive
///
/// It ends with credentials, or with a failure for which there is no remedy. A remedy goes back to an
/// earlier step, or takes the same one again. Each remedy is tried once, and what ``Once`` names is done
/// once, so that a refresh always ends.
struct Refresh: Sendable, Equatable {
  /// What the call under way is for.
  enum Step: Sendable, Equatable {
    /// The backend checks a password. Goes to `readFile`, `renewLink` or `callback`.
    case checkPassword
    /// The profile's token file is read. With a backend it goes to `renewLink` or `callback`, else to
    /// `exchange` or `proveLogin`.
    case readFile
    /// A linked sign-in is renewed. Goes to `callback`, whether that succeeds or not; ends the refresh
    /// if it is for callers that want the tokens of the linked sign-in.
    case renewLink
    /// The user's sign-in at a provider is renewed. Goes to `exchange` or `proveLogin`; ends the refresh
    /// where the profile gives tokens alone.
    case renewTokens
    /// The backend is asked for a token. Goes to `exchange`; ends the refresh if only the token is
    /// wanted. A remedy takes it again, and the steps before it that were not taken.
    case callback(bringing: Brought)
    /// Cognito has to accept a login of that provider by itself. Goes to the next login's `proveLogin`,
    /// and after the last one to `exchange`.
    case proveLogin(of: String)
    /// Cognito or STS is asked with the tokens that there are. Goes to `exchange` or `proveLogin` until
    /// there are credentials: GetId, GetOpenIdToken, then STS. A remedy goes to the step that gives
    /// another token or another identity.
    case exchange
    /// The source is asked for credentials that last long enough. Goes to `derive`.
    case askSource
    /// STS is asked with the source's credentials. A remedy goes to `askSource`.
    case derive
    /// No call of this refresh: it waits for a renewal at the provider that another refresh asked for.
    /// Goes to any step of its chain but `checkPassword`.
    case awaitRenewal
  }

  /// What a callback brings to the backend beside the user.
  struct Brought: OptionSet, Sendable {
    let rawValue: UInt8
    static let link = Brought(rawValue: 1)
    /// Logins of a client, to be linked.
    static let logins = Brought(rawValue: 2)
  }

  /// A call and its step.
  struct Call: Sendable, Equatable {
    let id: CallID
    var step: Step
  }

  /// What a refresh does once, unless a remedy takes it back.
  struct Once: OptionSet, Sendable {
    let rawValue: UInt8
    static let readFile = Once(rawValue: 1)
    /// The renewal of the linked sign-in was tried: the callback now goes with the ID token that
    /// there is, if any.
    static let triedLink = Once(rawValue: 2)
    /// The held token came in this refresh: it is used however short it lasts.
    static let newToken = Once(rawValue: 4)
  }

  /// The remedies that were tried. Each is tried once.
  struct Remedies: OptionSet, Sendable {
    let rawValue: UInt8
    static let newToken = Remedies(rawValue: 1)
    static let droppedIdentity = Remedies(rawValue: 2)
    static let withoutIdentity = Remedies(rawValue: 4)
    static let newIdentity = Remedies(rawValue: 8)
    static let olderRenewal = Remedies(rawValue: 16)
    static let withoutLink = Remedies(rawValue: 32)
    static let otherKey = Remedies(rawValue: 64)
  }

  /// Which tokens the callers accept.
  enum Demand: Sendable, Equatable {
    /// Those that are held, while they are usable.
    case usable
    /// A caller wants new ones: the held token is not used.
    case new
  }

  /// How far Cognito has come with the logins.
  enum AtCognito: Sendable, Equatable {
    /// It has to accept these one by one before anything else is called. Goes to `asked` after the
    /// last of them.
    case proving([LoginsMap.Login])
    /// Goes to `gaveToken` in the basic flow.
    case asked
    /// GetOpenIdToken gave this token, for STS. A remedy goes back to `asked`.
    case gaveToken(Secret)
  }

  /// The call under way; nil before the first. The outcome of another call is stale.
  private(set) var underWay: Call?
  /// Where the chain ends.
  var goal: Waiter.Want
  var demand = Demand.usable
  /// How the user is signed in after a success; nil for guests.
  var method: SignInMethod?
  var done: Once = []
  var remedies: Remedies = []
  var atCognito = AtCognito.asked
  var key = LoginsKey()

  init(goal: Waiter.Want, method: SignInMethod?) {
    self.goal = goal
    self.method = method
  }
}

extension Refresh {
  var call: CallID? { underWay?.id }
  var step: Step? { underWay?.step }

  /// From here on only the outcome of this call is awaited.
  mutating func awaits(_ call: CallID, at step: Step) { underWay = Call(id: call, step: step) }

  /// Goes back to the first step.
  mutating func beginAnew() { underWay = nil }

  /// The backend has taken what the callback brought.
  mutating func tookWhatItBrought() {
    if case .callback = step { underWay?.step = .callback(bringing: []) }
  }

  /// What the call under way brings to the backend.
  var brought: Brought {
    if case .callback(let brought) = step { brought } else { [] }
  }

  /// A backend that keeps its tokens must not give the refused one again.
  var wasTokenRefused: Bool {
    !remedies.isDisjoint(with: [.newToken, .droppedIdentity, .newIdentity])
  }

  /// The token of GetOpenIdToken, for STS.
  var openIDToken: Secret? { if case .gaveToken(let token) = atCognito { token } else { nil } }

  mutating func dropOpenIDToken() { if openIDToken != nil { atCognito = .asked } }

  /// The logins that Cognito has yet to accept one by one.
  var unreadLogins: [LoginsMap.Login] {
    if case .proving(let logins) = atCognito { logins } else { [] }
  }
}
