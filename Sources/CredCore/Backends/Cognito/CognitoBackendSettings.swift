/// A backend of type `cognito`: credd holds developer AWS credentials and asks Cognito for tokens.
/// The region is the region of the profile's identity pool. Without a file and a process, credd
/// takes the credentials from its environment.
public struct CognitoBackendSettings: Sendable, Equatable {
  /// A file in the format of `~/.aws/credentials`.
  public var credentialsFile: String?
  /// The section of the credentials file.
  public var credentialsProfile = "default"
  /// A program that prints credentials, and its arguments.
  public var credentialProcess: [String]?
  /// Requested lifetime of a token: 1 s to 24 h (Cognito API reference,
  /// GetOpenIdTokenForDeveloperIdentity).
  public var tokenDuration: Duration = .seconds(15 * 60)
  /// At most ``Limits/Upstream/principalTags``.
  public var principalTags: [String: Template] = [:]
  /// The endpoint that replaces AWS's own.
  public var cognitoEndpoint: HTTPURL?
  /// Whether http:// to another host is allowed.
  public var allowPlainHTTP = false

  public init() {}
}

extension BackendType {
  public static let cognito = BackendType("cognito")
}

extension CognitoBackendSettings: BackendKind {
  public static var type: BackendType { .cognito }
  public static var storedWord: String { "cognito" }

  public var addsLogin: Bool { true }

  public func needsUserName(userIdentifier: Template) -> Bool {
    userIdentifier.needsUserName || principalTags.values.contains(where: \.needsUserName)
  }

  public var namedFiles: [NamedFile] {
    [
      NamedFile("credentials_file", credentialsFile, .secret(.lines)),
      NamedFile("credential_process", credentialProcess?.first, .program),
    ].compactMap(\.self)
  }

  public func addressSettings(of issuer: ProviderIssuer?) -> [String?] { [cognitoEndpoint?.text] }
}

extension CognitoBackendSettings: ConfiguredBackend {
  static let rows: [ConfigurationKey<CognitoBackendSettings>] = [
    .init("credentials_file", \.credentialsFile, .path),
    .init("credentials_profile", \.credentialsProfile, .sectionName, standard: "default"),
    .init("credential_process", \.credentialProcess, .command),
    .init(
      "token_duration", \.tokenDuration, .seconds(Limits.Upstream.tokenSeconds), standard: "15m"),
    .init("cognito_endpoint", \.cognitoEndpoint, .endpoint),
    .init("allow_plain_http", \.allowPlainHTTP, .yesNo, standard: "no"),
    .init(family: "principal_tags.", syntax: tagValue.name) {
      value, name, settings throws(InvalidValue) in
      guard Limits.Upstream.tagNameLength.contains(name.utf8.count),
        name.containsOnlyLettersDigits(or: "_.:/+@-")
      else {
        throw InvalidValue("not a tag's name")
      }
      guard settings.principalTags.count < Limits.Upstream.principalTags else {
        throw InvalidValue("more than \(Limits.Upstream.principalTags) principal tags")
      }
      settings.principalTags[name] = try tagValue.read(value)
    },
  ]

  private static var tagValue: ValueSyntax<Template> {
    .template(length: Limits.Upstream.tagValueLength.upperBound)
  }

  func check(_ section: INISection, _ reader: inout ConfigurationReader) {
    reader.refusePlainHTTP("cognito_endpoint", cognitoEndpoint, section, isAllowed: allowPlainHTTP)
    reader.require("credentials_file", with: "credentials_profile", section)
    reader.exclude("credential_process", with: "credentials_file", section)
  }
}
