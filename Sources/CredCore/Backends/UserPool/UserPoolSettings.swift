/// A backend of type `user-pool`: an app client of a Cognito user pool.
public struct UserPoolSettings: Sendable, Equatable {
  /// How a sign-in begins.
  public enum AuthFlow: String, Sendable, CaseIterable {
    /// USER_SRP_AUTH: the password never leaves this host.
    case srp
    /// USER_PASSWORD_AUTH.
    case password
    /// CUSTOM_AUTH: the pool's own triggers ask.
    case custom
    /// CUSTOM_AUTH after a proof of the password.
    case customSRP = "custom-srp"
    /// USER_AUTH: the user chooses.
    case choice
  }

  /// Whether the pool should remember this host as the user's device, if it asks.
  public enum DeviceMemory: String, Sendable, CaseIterable {
    case no
    case yes
    /// The user decides at the sign-in.
    case ask
  }

  /// `REGION_NAME`; requests go to this region.
  public var userPoolID = ""
  public var clientID = ""
  /// Nil for a public client.
  public var clientSecretFile: String?
  public var authFlow = AuthFlow.srp
  public var rememberDevice = DeviceMemory.no
  /// The actions of `account` that users may do.
  public var accountActions = Self.standardAccountActions
  /// The actions that users may do on their own accounts by default.
  public static let standardAccountActions: [AccountAction] = [
    .get, .changePassword, .devices, .rememberDevice, .forgetDevice,
  ]
  /// Whether clients may send `client_metadata` and `validation_data`, which the pool's triggers get.
  public var takesClientMetadata = false
  /// The key in the logins map that replaces the documented one.
  public var providerName: String?
  /// The endpoint that replaces AWS's own.
  public var endpoint: HTTPURL?
  /// The region of the pool's replica, which serves while the primary cannot be reached.
  public var replicaRegion: String?
  /// The replica's endpoint that replaces AWS's own.
  public var replicaEndpoint: HTTPURL?
  /// The domain of the pool's Hosted UI; nil if users sign in without a browser.
  public var domain: HTTPURL?
  /// The settings of a sign-in by browser.
  public var browser = BrowserSettings()
  /// PEM file of certificate authorities. They replace the system's authorities.
  public var caFile: String?
  /// Whether http:// to another host is allowed.
  public var allowPlainHTTP = false

  public init() {}
}

extension BackendType {
  public static let userPool = BackendType("user-pool")
}

extension ProviderTraits {
  static let userPool = ProviderTraits(
    words: Words(article: "a", name: "user pool", short: "user pool", own: "user pool"),
    means: .userPool, takesPasswords: true, alwaysGivesRefreshToken: true, keepsUsernames: true,
    namesTokenEndpoint: false, marksAccountTokens: true, rotatesAlone: false,
    endsOneSignInAlone: true, remembersDevices: true,
    logoutParameter: "logout_uri", logoutRequiresRedirectURI: true,
    lackOfDeviceCodes: "Cognito's user pools have no device codes")
}

extension UserPoolSettings: ProviderKind {
  public static var type: BackendType { .userPool }
  public static var storedWord: String { "user-pool" }
  public static var traits: ProviderTraits { .userPool }

  public func trust(in profile: ProfileSettings) throws(InvalidInput) -> SessionPlan.BackendTrust {
    .provider(
      ProviderIssuer(
        pool: try UserPoolID(userPoolID), clientID: clientID, url: try host(in: profile).url))
  }

  /// The host for requests. FIPS and dualstack choose among AWS's own hosts, so the reader refuses
  /// them beside an endpoint.
  func host(in profile: ProfileSettings) throws(InvalidInput) -> AWSHost {
    let region = try UserPoolID(userPoolID).region
    if let endpoint {
      return try AWSHost(.cognitoUserPools, region: region, custom: endpoint.text)
    }
    return try AWSHost(
      .cognitoUserPools, region: region, fips: profile.fips, dualStack: profile.dualstack)
  }

  // Cognito runs all user pools.
  public var party: String { "Cognito" }
  public var signInWays: [SignInWay] { domain == nil ? [] : [.browser, .paste] }
  public var browserSignIn: BrowserSettings? { domain == nil ? nil : browser }
  public var lackOfBrowser: String? {
    domain == nil ? "has no domain, so nobody can sign in there by browser" : nil
  }

  public var clientAuthentication: ClientAuthentication.Method {
    clientSecretFile == nil ? .none : .basic
  }

  public var signInSettings: any BackendKind {
    var settings = self
    settings.accountActions = []
    return settings
  }

  public var fixedHostKey: String? { endpoint == nil ? nil : "user_pool_endpoint" }

  /// The URLs of the Hosted UI, below the domain.
  public var providerEndpoints: ProviderEndpoints {
    var endpoints = ProviderEndpoints()
    guard let domain else { return endpoints }
    endpoints.authorization = try? HTTPURL("\(domain.origin)/oauth2/authorize")
    endpoints.token = try? HTTPURL("\(domain.origin)/oauth2/token")
    endpoints.revocation = try? HTTPURL("\(domain.origin)/oauth2/revoke")
    endpoints.endSession = try? HTTPURL("\(domain.origin)/logout")
    return endpoints
  }

  public var namedFiles: [NamedFile] {
    [
      NamedFile("client_secret_file", clientSecretFile, .secret(.line)),
      NamedFile("ca_file", caFile, .authorities),
    ].compactMap(\.self)
  }

  public func addressSettings(of issuer: ProviderIssuer?) -> [String?] {
    [userPoolID, clientID, issuer?.url, caFile]
  }

  public var credentialSettings: [String] { [providerName].compactMap(\.self) }
}
