/// A `[backend NAME]` section: who vouches for users. Profiles share it.
public struct BackendSettings: Sendable, Equatable {
  public enum Kind: Sendable, Equatable {
    case http(HTTPBackendSettings)
    case exec(ExecBackendSettings)
    case cognito(CognitoBackendSettings)
    case awsSample(AWSSampleBackendSettings)
  }

  public let name: String
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
