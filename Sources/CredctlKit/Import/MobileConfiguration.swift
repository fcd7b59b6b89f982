internal import CredCore

/// The pools in the configuration file of a mobile app.
struct MobileConfiguration: Equatable {
  /// The kind of file. The content decides it, because people rename files.
  enum Kind: String {
    /// The file of the AWS mobile SDKs and AWSMobileClient.
    case mobileSDK = "awsconfiguration.json"
    /// The file of Amplify's first generation.
    case amplify = "amplifyconfiguration.json"
    /// The file of Amplify's second generation.
    case amplifyOutputs = "amplify_outputs.json"
  }

  struct Pool: Equatable {
    /// The name in the file; nil if there is none.
    var name: String?
    /// `REGION:UUID`, well-formed; nil where the file has a user pool alone.
    var id: String?
    /// Whether the pool has guests; nil if the file does not say.
    var allowsGuests: Bool?
    /// The user pool for whose users there are credentials; nil if there is none, or if the file
    /// has no app client for it.
    var users: UserPool?
    /// How the app's users sign in with a browser.
    var browser: BrowserSignIn?
    /// The other providers from which users of the pool may have tokens.
    var logins: [Login] = []
  }

  /// An app client of a user pool.
  struct UserPool: Equatable {
    var id: String
    var clientID: String
    /// Whether the file has a client secret. The secret itself is not read.
    var hasSecret = false
    /// The value of `auth_flow`; nil for the default.
    var authFlow: UserPoolSettings.AuthFlow?
  }

  /// A provider of the logins map.
  struct Login: Equatable {
    /// The key in the logins map.
    var provider: String
    /// The name for people.
    var title: String
  }

  var kind: Kind
  /// The pools; there is at least one.
  var pools: [Pool]
}

extension MobileConfiguration {
  /// - Throws: the first error, with its position.
  init(_ bytes: [UInt8]) throws(ImportError) {
    let file = try ImportedObject(file: bytes)
    if file.member("auth") != nil {
      try self.init(amplify: file)
    } else if ["aws_cognito_identity_pool_id", "aws_user_pools_id"]
      .contains(where: { file.member($0) != nil })
    {
      try self.init(javaScript: file)
    } else if Self.plugInKeys.contains(where: { file.member($0) != nil }) {
      self.init(kind: .mobileSDK, pools: try Self.pools(ofPlugIn: file))
    } else {
      let names = [Kind.mobileSDK, .amplify, .amplifyOutputs].map(\.rawValue)
      throw ImportError(
        offset: 0,
        message: "neither \(names[0]), \(names[1]) nor \(names[2]): there is no \"auth\" and no "
          + "\"CredentialsProvider\"")
    }
  }

  /// The second generation writes the pools into `auth`; the first writes them below a plug-in's
  /// name.
  private init(amplify file: ImportedObject) throws(ImportError) {
    guard let auth = try file.object("auth") else { throw Self.noPool(in: file) }
    guard let plugIns = try auth.object("plugins") else {
      kind = .amplifyOutputs
      pools = [try Self.pool(ofOutputs: auth, file)]
      return
    }
    guard let plugIn = try plugIns.object("awsCognitoAuthPlugin") else {
      throw ImportError(
        offset: plugIns.offset, message: "\"plugins\" of \"auth\" lack \"awsCognitoAuthPlugin\"")
    }
    kind = .amplify
    pools = try Self.pools(ofPlugIn: plugIn)
  }

  /// Amplify for JavaScript writes the first generation's file without nested objects.
  private init(javaScript file: ImportedObject) throws(ImportError) {
    let users = try UserPoolClientEntry(
      id: file.text("aws_user_pools_id"), region: nil,
      client: file.text("aws_user_pools_web_client_id"))
    kind = .amplify
    pools = [
      try Self.pool(
        id: file.text("aws_cognito_identity_pool_id"), region: file.text("aws_cognito_region"),
        users, in: file)
    ]
  }

  /// The only pool of a file: an identity pool, perhaps with users, or a user pool alone.
  private static func pool(
    id: ImportedText?, region: ImportedText?, _ users: UserPoolClientEntry?,
    in object: ImportedObject
  ) throws(ImportError) -> Pool {
    if let id {
      return Pool(id: try MobileID.identityPool(id, region: region))
        .adding(users.map { [$0] } ?? [])
    }
    guard let users, users.client != nil else { throw noPool(in: object) }
    return Pool().adding([users])
  }

  static func noPool(in object: ImportedObject) -> ImportError {
    let named = object.name.isEmpty ? "the file" : object.name.quoted
    return ImportError(
      offset: object.offset,
      message:
        "\(named) names no identity pool, which gives AWS credentials, and no user pool with an "
        + "app client, which gives tokens")
  }

  // MARK: amplify_outputs.json

  private static func pool(
    ofOutputs auth: ImportedObject, _ file: ImportedObject
  ) throws(ImportError) -> Pool {
    // The version is x.y; another x has another layout.
    if let version = try file.text("version"), version.text.prefix(while: { $0 != "." }) != "1" {
      throw version.error("must be 1 or 1.y: this format is not known")
    }
    let region = try auth.text("aws_region")
    let users = try UserPoolClientEntry(
      id: auth.text("user_pool_id"), region: region, client: auth.text("user_pool_client_id"))
    var pool = try Self.pool(
      id: auth.text("identity_pool_id"), region: region, users, in: auth)
    if pool.id != nil {
      pool.allowsGuests = try auth.flag("unauthenticated_identities_enabled")
    }
    return pool
  }
}

/// `awsconfiguration.json`. Amplify's first generation has the same object as the configuration of its
/// plug-in `awsCognitoAuthPlugin`.
extension MobileConfiguration {
  static let plugInKeys = ["CredentialsProvider", "CognitoUserPool", "IdentityManager"]

  /// The providers with which an app can sign in directly, and their keys in the logins map
  /// (Cognito developer guide, "External identity providers").
  private static let social: [(key: String, login: Login)] = [
    ("FacebookSignIn", Login(provider: "graph.facebook.com", title: "Facebook")),
    ("GoogleSignIn", Login(provider: "accounts.google.com", title: "Google")),
    ("AmazonSignIn", Login(provider: "www.amazon.com", title: "Amazon")),
    ("AppleSignIn", Login(provider: "appleid.apple.com", title: "Apple")),
  ]

  static func pools(ofPlugIn plugIn: ImportedObject) throws(ImportError) -> [Pool] {
    let provider = try plugIn.object("CredentialsProvider")
    guard let identities = try provider?.object("CognitoIdentity"), !identities.members.isEmpty
    else {
      return try poolsOfUsers(plugIn, orElse: noPool(in: provider ?? plugIn))
    }
    guard identities.members.count <= ImportLimits.pools else {
      throw ImportError(
        offset: identities.offset, message: "more than \(ImportLimits.pools) identity pools")
    }
    let userPools = try userPools(plugIn)
    let flows = try plugIn.object("Auth")
    let social = social.filter { plugIn.member($0.key) != nil }.map(\.login)
    var pools: [Pool] = []
    for member in identities.members {
      let entry = try ImportedObject(member)
      let id = try MobileID.identityPool(
        entry.required("PoolId"), region: entry.text("Region"))
      // An app pairs an identity pool with the user pool of the same name.
      let paired = userPools.filter { $0.name == member.key }
      let users = (paired.isEmpty ? userPools : paired).map(\.entry)
      var pool = Pool(name: member.key, id: id).adding(users)
      pool.logins += social
      pool.use(try browserSignIn(flows, member.key))
      pools.append(pool)
    }
    return pools
  }

  /// The user pools of a file that names no identity pool.
  private static func poolsOfUsers(
    _ plugIn: ImportedObject, orElse error: ImportError
  ) throws(ImportError) -> [Pool] {
    let flows = try plugIn.object("Auth")
    var pools: [Pool] = []
    for (name, entry) in try userPools(plugIn).prefix(ImportLimits.pools)
    where entry.client != nil {
      var pool = Pool(name: name).adding([entry])
      pool.use(try browserSignIn(flows, name))
      // Without an identity pool there is no logins map.
      pool.logins = []
      pools.append(pool)
    }
    guard !pools.isEmpty else { throw error }
    return pools
  }

  /// Of the flow with the pool's name, or of the usual one.
  private static func browserSignIn(
    _ flows: ImportedObject?, _ name: String
  ) throws(ImportError) -> BrowserSignIn? {
    for key in [name, "Default"] {
      if let oauth = try flows?.object(key)?.object("OAuth"), !oauth.members.isEmpty {
        return try BrowserSignIn(oauth)
      }
    }
    return nil
  }

  private static func userPools(
    _ plugIn: ImportedObject
  ) throws(ImportError) -> [(name: String, entry: UserPoolClientEntry)] {
    let flows = try plugIn.object("Auth")
    var pools: [(name: String, entry: UserPoolClientEntry)] = []
    for member in try plugIn.object("CognitoUserPool")?.members ?? [] {
      let object = try ImportedObject(member)
      var entry = try UserPoolClientEntry(
        required: object.required("PoolId"), region: object.text("Region"),
        client: object.text("AppClientId"))
      entry.client?.hasSecret = try object.text("AppClientSecret")?.text.isEmpty == false
      var flow = try flows?.object(member.key)
      if flow == nil { flow = try flows?.object("Default") }
      entry.client?.authFlow = try flow?.text("authenticationFlowType")
        .flatMap { authFlows[$0.text] }
      pools.append((member.key, entry))
    }
    return pools
  }

  /// The flows by their names in the SDKs. At the time of AWSMobileClient, SDKs began CUSTOM_AUTH
  /// with a proof of the password.
  private static let authFlows: [String: UserPoolSettings.AuthFlow] = [
    "USER_PASSWORD_AUTH": .password, "CUSTOM_AUTH": .customSRP,
    "CUSTOM_AUTH_WITH_SRP": .customSRP, "CUSTOM_AUTH_WITHOUT_SRP": .custom, "USER_AUTH": .choice,
  ]
}

/// A user pool of a file, perhaps with an app client.
struct UserPoolClientEntry: Equatable {
  let login: MobileConfiguration.Login
  var client: MobileConfiguration.UserPool?

  /// Returns nil without an id.
  init?(id: ImportedText?, region: ImportedText?, client: ImportedText?) throws(ImportError) {
    guard let id else { return nil }
    try self.init(required: id, region: region, client: client)
  }

  init(required id: ImportedText, region: ImportedText?, client: ImportedText?) throws(ImportError)
  {
    let pool = try MobileID.userPool(id, region: region)
    login = MobileConfiguration.Login(
      provider: pool.loginsKey, title: "the user pool \(pool.id)")
    guard let client else { return }
    guard (1...128).contains(client.text.utf8.count),
      client.text.containsOnlyLettersDigits(or: "_+")
    else { throw client.error("must be an app client's id: letters and digits") }
    self.client = MobileConfiguration.UserPool(id: pool.id, clientID: client.text)
  }
}

extension MobileConfiguration.Pool {
  /// If there is a provider with custom URLs, the users are there, and a user pool beside it only
  /// gives logins.
  fileprivate mutating func use(_ signIn: MobileConfiguration.BrowserSignIn?) {
    browser = signIn
    guard signIn?.provider != nil, signIn?.clientID != nil, let users else { return }
    self.users = nil
    if let pool = try? UserPoolID(users.id) {
      logins.insert(
        MobileConfiguration.Login(provider: pool.loginsKey, title: "the user pool \(users.id)"),
        at: 0)
    }
  }

  /// This pool with the first user pool that has an app client. All others are providers of logins.
  fileprivate func adding(_ entries: [UserPoolClientEntry]) -> Self {
    var pool = self
    pool.users = entries.lazy.compactMap(\.client).first
    let own = entries.first { $0.client != nil }?.login
    pool.logins += entries.map(\.login).unique.filter { $0 != own }
    return pool
  }
}

extension [MobileConfiguration.Login] {
  /// Each login once, because several app clients may belong to one user pool.
  fileprivate var unique: Self {
    reduce(into: []) { logins, login in
      if !logins.contains(login) { logins.append(login) }
    }
  }
}
