/// A `[backend NAME]` section: the service that authenticates users. Several profiles may use it.
public struct BackendSettings: Sendable, Equatable {
  public enum Kind: Sendable, Equatable {
    case http(HTTPBackendSettings)
    case exec(ExecBackendSettings)
    case cognito(CognitoBackendSettings)
    case awsSample(AWSSampleBackendSettings)
    case userPool(UserPoolSettings)
    case oidc(OIDCSettings)
  }

  public internal(set) var name: String
  public var kind: Kind
  /// The longest time of one callback.
  public var timeout: Duration = .seconds(5)
  /// Callbacks at the same time.
  public var maxParallel = 16
  /// Whether callbacks name the user and the process that asks: `http` and `exec`.
  public var sendsCaller = false
  /// The highest rate of calls. The default is Cognito's quota for `type = cognito`.
  public var rateLimit = Rate.perSecond(50)

  public init(name: String, kind: Kind) {
    self.name = name
    self.kind = kind
  }

  public var type: BackendType {
    switch kind {
    case .http: .http
    case .exec: .exec
    case .cognito: .cognito
    case .awsSample: .awsSample
    case .userPool: .userPool
    case .oidc: .oidc
    }
  }

  /// The key of its tokens in the logins map, where the configuration has one.
  public var providerName: String? {
    switch kind {
    case .userPool(let pool): pool.providerName
    case .oidc(let oidc): oidc.providerName
    default: nil
    }
  }

  /// Whether callbacks carry the developer user identifier. Without it, the URL names the user.
  public var sendsUserIdentifier: Bool {
    switch kind {
    case .http(let http): http.method == .post
    // The provider itself says who its users are.
    case .userPool, .oidc: false
    case .exec, .cognito, .awsSample: true
    }
  }

  /// Whether every callback needs the user's name, which a uid may not have. After a sign-in with a
  /// password the backend's own name for the user may take the place of the identifier.
  ///
  /// - Parameter userIdentifier: the profile's template.
  public func needsUserName(userIdentifier: Template) -> Bool {
    switch kind {
    case .http(let http):
      http.url.needsUserName
        || (sendsUserIdentifier && http.loginURL == nil && userIdentifier.needsUserName)
    case .awsSample, .userPool: false
    case .oidc(let oidc): oidc.required.contains(where: \.value.needsUserName)
    case .exec: userIdentifier.needsUserName
    case .cognito(let cognito):
      userIdentifier.needsUserName || cognito.principalTags.values.contains(where: \.needsUserName)
    }
  }
}

/// The `type` of a `[backend NAME]` section: the protocol of the token callback.
public enum BackendType: String, Sendable, CaseIterable {
  case http
  case exec
  case cognito
  case awsSample = "aws-sample"
  case userPool = "user-pool"
  case oidc

  /// Whether it vouches for users at a developer provider. A user pool is a provider of its own, and
  /// so is one of OpenID Connect.
  var needsDeveloperProvider: Bool { self != .userPool && self != .oidc }
}

/// A backend while its section is read. Its type may follow the keys that depend on it, so the
/// draft has settings of every type.
struct BackendDraft {
  var type: BackendType?
  /// The settings of every type; the kind is a placeholder.
  var common = BackendSettings(name: "", kind: .cognito(CognitoBackendSettings()))
  var http = HTTPBackendSettings(url: URLTemplate(unread: ()))
  var exec = ExecBackendSettings(command: [])
  var cognito = CognitoBackendSettings()
  var awsSample = AWSSampleBackendSettings(url: HTTPURL(unread: ()))
  var userPool = UserPoolSettings()
  var oidc = OIDCSettings()

  /// Nil without a type.
  func settings(name: String) -> BackendSettings? {
    guard let type else { return nil }
    var settings = common
    settings.name = name
    switch type {
    case .http: settings.kind = .http(http)
    case .exec: settings.kind = .exec(exec)
    case .cognito: settings.kind = .cognito(cognito)
    case .awsSample: settings.kind = .awsSample(awsSample)
    case .userPool: settings.kind = .userPool(userPool)
    case .oidc: settings.kind = .oidc(oidc)
    }
    return settings
  }
}

extension BackendSettings {
  /// Scheme, host and port of its server, with a slash; nil for a command, for AWS and for a pool.
  public var origin: String? {
    switch kind {
    case .http(let http): http.url.sample.origin + "/"
    case .awsSample(let sample): sample.url.origin + "/"
    case .oidc(let provider): (try? HTTPURL(provider.issuer)).map { $0.origin + "/" }
    case .exec, .cognito, .userPool: nil
    }
  }
}

/// A backend of type `http`.
public struct HTTPBackendSettings: Sendable, Equatable {
  public var url: URLTemplate
  public var method = HTTPRequest.Method.post
  /// Its content is sent as `Authorization: Bearer`.
  public var bearerTokenFile: String?
  /// PEM file of certificate authorities, in place of the system's.
  public var caFile: String?
  /// PEM file, which may hold the key too.
  public var clientCertificate: String?
  public var clientKey: String?
  /// Path of a socket to connect to in place of the URL's host.
  public var unixSocket: String?
  /// Sent with every request, in the order of the file. No name occurs twice in any case.
  public var headers: [HTTPHeader] = []
  /// The URL of sign-ins with a password; nil if the backend trusts the host.
  public var loginURL: URLTemplate?
  /// The URL that `logout` with `global` calls.
  public var logoutURL: URLTemplate?
  /// The URL at which users make accounts; nil if they cannot.
  public var registerURL: URLTemplate?
  /// Whether http:// to another host is allowed.
  public var allowPlainHTTP = false

  public init(url: URLTemplate) {
    self.url = url
  }
}

/// A backend of type `exec`: a program that reads its standard input, without a shell.
public struct ExecBackendSettings: Sendable, Equatable {
  /// The program's absolute path and its arguments.
  public var command: [String]
  /// Variables added to a minimal environment. A value may be a key.
  public var environment: [String: Secret] = [:]

  public init(command: [String]) {
    self.command = command
  }
}

/// A backend of type `cognito`: credd holds developer AWS credentials and asks Cognito for tokens.
/// The region is that of the profile's identity pool. Without a file and a process the credentials
/// come from credd's environment.
public struct CognitoBackendSettings: Sendable, Equatable {
  /// A file in the format of `~/.aws/credentials`.
  public var credentialsFile: String?
  /// The section of that file.
  public var credentialsProfile = "default"
  /// A program that prints credentials, and its arguments.
  public var credentialProcess: [String]?
  /// Requested lifetime of a token: 1 s to 24 h (Cognito API reference,
  /// GetOpenIdTokenForDeveloperIdentity).
  public var tokenDuration: Duration = .seconds(15 * 60)
  /// At most ``Limits/Upstream/principalTags``.
  public var principalTags: [String: Template] = [:]
  /// In place of AWS's own.
  public var cognitoEndpoint: HTTPURL?
  /// Whether http:// to another host is allowed.
  public var allowPlainHTTP = false

  public init() {}
}

/// A backend of type `aws-sample`: Amazon's sample server for developer-authenticated identities.
public struct AWSSampleBackendSettings: Sendable, Equatable {
  /// The base URL, before `/login` and `/gettoken`; without a slash at its end.
  public var url: HTTPURL
  /// The sample's own name for its app.
  public static let standardAppName = "awscognitodeveloperauthenticationsample"

  /// The server derives its keys from this name, among others; lower-case.
  public var appName = Self.standardAppName
  /// PEM file of certificate authorities, in place of the system's.
  public var caFile: String?
  /// Whether http:// to another host is allowed.
  public var allowPlainHTTP = false

  public init(url: HTTPURL) {
    self.url = url
  }
}
