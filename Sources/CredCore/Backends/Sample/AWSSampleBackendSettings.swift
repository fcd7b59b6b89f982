/// A backend of type `aws-sample`: Amazon's sample server for developer-authenticated identities.
public struct AWSSampleBackendSettings: Sendable, Equatable {
  /// The base URL, before `/login` and `/gettoken`; without a slash at its end.
  public var url: HTTPURL
  /// The sample's own name for its app.
  public static let standardAppName = "awscognitodeveloperauthenticationsample"

  /// The server derives its keys from this name and other values; lower-case.
  public var appName = Self.standardAppName
  /// PEM file of certificate authorities. They replace the system's authorities.
  public var caFile: String?
  /// Whether http:// to another host is allowed.
  public var allowPlainHTTP = false

  public init(url: HTTPURL) {
    self.url = url
  }

  init() {
    self.init(url: HTTPURL(unread: ()))
  }
}

extension BackendType {
  public static let awsSample = BackendType("aws-sample")
}

extension AWSSampleBackendSettings: BackendKind {
  public static var type: BackendType { .awsSample }
  public static var storedWord: String { "aws-sample" }

  public var takesPasswords: Bool { true }
  public var addsLogin: Bool { true }
  public func isUsable(_ token: Secret) -> Bool { SampleSession(packed: token) != nil }
  /// The typed user name takes the place of the identifier.
  public func needsUserName(userIdentifier: Template) -> Bool { false }

  /// What it cannot have was mistyped: the user tries again.
  public func refusal(ofName username: String, _ password: Secret) -> ProtocolError? {
    do throws(InvalidInput) {
      try SampleServer.check(username, password)
      return nil
    } catch {
      return ProtocolError(.signInFailed, "check user name and password: the \(error.description)")
    }
  }

  public var accountActions: [AccountAction] { [.signUp] }

  public func refusalOfSignUp(_ signUp: SignUp, at backend: String) -> ProtocolError? {
    do throws(InvalidInput) {
      try SampleServer.check(signUp.username, signUp.password)
    } catch {
      return ProtocolError(
        .invalidRequest, "\(backend) takes no such account: the \(error.description)")
    }
    if !signUp.attributes.isEmpty {
      return ProtocolError(.invalidRequest, "\(backend) takes no \"attributes\"")
    }
    // All other requests are signed or encrypted with the password. This request contains the
    // password.
    guard url.isEncrypted || url.isLoopback else {
      return ProtocolError(
        .invalidRequest, "\(backend) would get the password in clear: its url is no https:// URL")
    }
    return nil
  }

  public var origin: String? { url.origin + "/" }

  public var namedFiles: [NamedFile] {
    [NamedFile("ca_file", caFile, .authorities)].compactMap(\.self)
  }

  public func addressSettings(of issuer: ProviderIssuer?) -> [String?] {
    [url.text, appName, caFile]
  }
}

extension AWSSampleBackendSettings: ConfiguredBackend {
  static let rows: [ConfigurationKey<AWSSampleBackendSettings>] = [
    .init("url", \.url, .endpoint, required: true),
    .init("app_name", \.appName, .appName, standard: standardAppName),
    .init("ca_file", \.caFile, .path),
    .init("allow_plain_http", \.allowPlainHTTP, .yesNo, standard: "no"),
  ]

  func check(_ section: INISection, _ reader: inout ConfigurationReader) {
    reader.refusePlainHTTP("url", url, section, isAllowed: allowPlainHTTP)
  }
}
