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
  /// At most ``ConfigurationLimits/principalTags``.
  public var principalTags: [String: Template] = [:]
  /// Instead of AWS's own.
  public var cognitoEndpoint: ConfiguredURL?
  /// Whether http may leave this host.
  public var allowPlainHTTP = false

  public init() {}
}
