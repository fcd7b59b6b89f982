/// A backend of type `aws-sample`: Amazon's sample server for developer-authenticated identities.
public struct AWSSampleBackendSettings: Sendable, Equatable {
  /// What `/login` and `/gettoken` are appended to; does not end in a slash.
  public var url: ConfiguredURL
  /// Part of what the server derives its keys from; lower-case.
  public var appName = "awscognitodeveloperauthenticationsample"
  /// PEM file of the authorities trusted instead of the system's.
  public var caFile: String?
  /// Whether http may leave this host.
  public var allowPlainHTTP = false

  public init(url: ConfiguredURL) {
    self.url = url
  }
}
