/// A `[backend NAME]` section: who vouches for users. Profiles share it.
public struct BackendSettings: Sendable, Equatable {
  public enum Kind: Sendable, Equatable {
    case http(HTTPBackendSettings)
    case exec(ExecBackendSettings)
    case cognito(CognitoBackendSettings)
    case awsSample(AWSSampleBackendSettings)
  }

  public internal(set) var name: String
  public var kind: Kind
  /// How long one callback may take.
  public var timeout: Duration = .seconds(5)
  /// Callbacks under way at once.
  public var maxParallel = 16
  /// How often it is called at most.
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
    }
  }

  /// Whether a callback for a user of this identifier cannot be made for a uid without a name.
  public func needsUserName(userIdentifier: Template) -> Bool {
    switch kind {
    case .http(let http):
      http.url.needsUserName || (http.method == .post && userIdentifier.needsUserName)
    case .exec, .awsSample: userIdentifier.needsUserName
    case .cognito(let cognito):
      userIdentifier.needsUserName || cognito.principalTags.values.contains(where: \.needsUserName)
    }
  }
}

/// What `type` in a `[backend NAME]` section says: the protocol of the token callback.
public enum BackendType: String, Sendable, CaseIterable {
  case http
  case exec
  case cognito
  case awsSample = "aws-sample"
}

/// A backend while its section is read: its type may stand below the keys that depend on it.
struct BackendDraft {
  var type: BackendType?
  /// What all types have. Its kind is a placeholder.
  var common = BackendSettings(name: "", kind: .cognito(CognitoBackendSettings()))
  var http = HTTPBackendSettings(url: URLTemplate(unread: ()))
  var exec = ExecBackendSettings(command: [])
  var cognito = CognitoBackendSettings()
  var awsSample = AWSSampleBackendSettings(url: HTTPURL(unread: ()))

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
    }
    return settings
  }
}

/// A backend of type `http`.
public struct HTTPBackendSettings: Sendable, Equatable {
  public var url: URLTemplate
  public var method = HTTPRequest.Method.post
  /// Its content goes into `Authorization: Bearer`.
  public var bearerTokenFile: String?
  /// PEM file of the authorities trusted instead of the system's.
  public var caFile: String?
  /// PEM file; the key may be in it.
  public var clientCertificate: String?
  public var clientKey: String?
  /// Path of the socket to connect to instead of the URL's host.
  public var unixSocket: String?
  /// Sent with every request, in the order of the file; no name twice, whatever its case.
  public var headers: [HTTPHeader] = []
  /// Where users sign in with a password; nil if the backend trusts the host.
  public var loginURL: URLTemplate?
  /// What `logout` with `global` calls.
  public var logoutURL: URLTemplate?
  /// Whether http may leave this host.
  public var allowPlainHTTP = false

  public init(url: URLTemplate) {
    self.url = url
  }
}

/// A backend of type `exec`: a program asked on its standard input, without a shell.
public struct ExecBackendSettings: Sendable, Equatable {
  /// The program's absolute path and its arguments.
  public var command: [String]
  /// What the program gets besides a minimal environment. A value may be a key.
  public var environment: [String: Secret] = [:]

  public init(command: [String]) {
    self.command = command
  }
}

/// A backend of type `cognito`: credd itself holds developer AWS credentials and asks Cognito for
/// tokens. The region comes from the profile's identity pool. With neither file nor process the
/// credentials come from credd's environment.
public struct CognitoBackendSettings: Sendable, Equatable {
  /// A file in the manner of `~/.aws/credentials`.
  public var credentialsFile: String?
  /// The section of that file.
  public var credentialsProfile = "default"
  /// A program that prints credentials, and its arguments.
  public var credentialProcess: [String]?
  /// Lifetime asked for: 1 s to 24 h (Cognito API reference, GetOpenIdTokenForDeveloperIdentity).
  public var tokenDuration: Duration = .seconds(15 * 60)
  /// At most ``Limits/Upstream/principalTags``.
  public var principalTags: [String: Template] = [:]
  /// Instead of AWS's own.
  public var cognitoEndpoint: HTTPURL?
  /// Whether http may leave this host.
  public var allowPlainHTTP = false

  public init() {}
}

/// A backend of type `aws-sample`: Amazon's sample server for developer-authenticated identities.
public struct AWSSampleBackendSettings: Sendable, Equatable {
  /// What `/login` and `/gettoken` are appended to; does not end in a slash.
  public var url: HTTPURL
  /// The sample's own name for its app.
  public static let standardAppName = "awscognitodeveloperauthenticationsample"

  /// The server derives its keys from this name, among others; lower-case.
  public var appName = Self.standardAppName
  /// PEM file of the authorities trusted instead of the system's.
  public var caFile: String?
  /// Whether http may leave this host.
  public var allowPlainHTTP = false

  public init(url: HTTPURL) {
    self.url = url
  }
}
