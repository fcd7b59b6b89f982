/// What a sandbox starts with.
public struct SandboxSeed: Sendable {
  /// One identity pool.
  public struct Pool: Sendable {
    public var id: String
    public var developerProvider: String?
    public var allowsGuests = false
    public var allowsClassicFlow = true
    public var authenticatedRole: String?
    public var guestRole: String?
    /// Public providers and the client id that each issues tokens for.
    public var providers: [String: String] = [:]

    public init(id: String, developerProvider: String?) {
      self.id = id
      self.developerProvider = developerProvider
    }
  }

  /// One user of the organisation.
  public struct User: Sendable {
    public var name: String
    /// nil: the name followed by `-password`.
    public var password: String?
    public var isDisabled = false
    public var requiresSession = false

    public init(name: String) {
      self.name = name
    }
  }

  public var pools: [Pool]
  public var users: [User]
  var roles: [Role]
  public var allowsAnyUser = false
  public var requiresSession = false
  public var developerKeys = ["AKIASANDBOXDEVELOPER": "sandbox-developer-secret"]
  /// Seconds.
  public var credentialLifetime = 3600
  /// Seconds.
  public var tokenLifetime = 900
  /// Characters.
  public var sessionTokenLength = 896
  public var backendToken: String?

  public static let defaultPool = "us-east-1:11111111-2222-3333-4444-555555555555"
  public static let defaultProvider = "login.example.app"
  static let account = "123456789012"

  /// One pool with every kind of provider, users alice, bob and root.
  public init(pool id: String = defaultPool, provider: String = defaultProvider) {
    var pool = Pool(id: id, developerProvider: provider)
    let region = id.prefix { $0 != ":" }
    pool.providers = [
      "accounts.google.com": "sandbox-client", "appleid.apple.com": "sandbox-client",
      "graph.facebook.com": "sandbox-client", "www.amazon.com": "sandbox-client",
      "cognito-idp.\(region).amazonaws.com/\(region)_Sandbox": "sandbox-client",
      "arn:aws:iam::\(SandboxSeed.account):saml-provider/sandbox": "sandbox-client",
    ]
    pool.authenticatedRole = SandboxSeed.arn("credd-authenticated")
    pool.guestRole = SandboxSeed.arn("credd-guest")
    pools = [pool]
    users = ["alice", "bob", "root"].map(User.init)
    roles = [
      Role(
        arn: SandboxSeed.arn("credd-authenticated"), pool: id, trustsAuthenticated: true,
        maximumSessionDuration: 43_200, isCustom: false),
      Role(
        arn: SandboxSeed.arn("credd-custom"), pool: id, trustsAuthenticated: true,
        maximumSessionDuration: 3600, isCustom: true),
      Role(
        arn: SandboxSeed.arn("credd-guest"), pool: id, trustsAuthenticated: false,
        maximumSessionDuration: 3600, isCustom: false),
    ]
  }

  private static func arn(_ role: String) -> String { "arn:aws:iam::\(account):role/\(role)" }
}
