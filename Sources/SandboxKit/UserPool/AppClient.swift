/// An app client of a user pool.
struct AppClient: Sendable, Equatable {
  enum Flow: String, Sendable, CaseIterable {
    case srp = "ALLOW_USER_SRP_AUTH"
    case password = "ALLOW_USER_PASSWORD_AUTH"
    case choice = "ALLOW_USER_AUTH"
    case custom = "ALLOW_CUSTOM_AUTH"
    case refresh = "ALLOW_REFRESH_TOKEN_AUTH"
  }

  static let maximumSecrets = 2

  let id: String
  /// None, one, or two while one replaces the other. Each counts.
  var secrets: [String] = []
  var flows: Set<Flow> = [.srp, .refresh]
  /// ENABLED, else LEGACY.
  var hidesUsers = true
  /// In seconds.
  var idTokenLifetime = 3600
  var accessTokenLifetime = 3600
  var refreshTokenLifetime = 30 * 86_400
  /// The lifetime of a sign-in that waits for an answer.
  var signInLifetime = 180
  var allowsRevocation = true
  /// Whether a refresh gives a new refresh token; then REFRESH_TOKEN_AUTH is refused.
  var rotatesTokens = false
  /// The seconds for which a rotated token is still accepted.
  var graceSeconds = 0
  /// The redirect URIs of the Hosted UI, compared byte for byte.
  var callbackURLs: [String] = []
  var logoutURLs: [String] = []

  init(id: String) { self.id = id }

  /// - Parameter name: the user's name in this request.
  func checkHash(_ hash: String?, of name: String) throws(ServiceError) {
    guard !secrets.isEmpty else {
      guard hash == nil else { throw wrongHash }
      return
    }
    guard let hash else {
      throw .poolRefused(
        "Client \(id) is configured with secret but SECRET_HASH was not received")
    }
    let isRight = secrets.contains {
      Cryptography.areEqual(hash, AppClient.hash(name, client: id, secret: $0))
    }
    guard isRight else { throw wrongHash }
  }

  private var wrongHash: ServiceError {
    .poolRefused("Unable to verify secret hash for client \(id)")
  }

  static func hash(_ name: String, client: String, secret: String) -> String {
    base64(
      Cryptography.hmacSHA256(key: Array(secret.utf8), message: Array((name + client).utf8)))
  }

  /// Whether a request's ClientSecret is one of this client's.
  func hasSecret(_ given: String?) -> Bool {
    guard let given else { return secrets.isEmpty }
    return secrets.contains { Cryptography.areEqual($0, given) }
  }
}

extension AppClient {
  /// Reads the settings of a client from a seed or the control path.
  mutating func apply(_ fields: inout FieldReader) throws(ServiceError) {
    try applySecrets(&fields)
    if let names = try fields.texts("ExplicitAuthFlows") {
      flows = []
      for name in names {
        guard let flow = Flow(rawValue: name) else {
          throw fields.fault(
            "ExplicitAuthFlows",
            "must be of " + Flow.allCases.map(\.rawValue).joined(separator: ", "))
        }
        flows.insert(flow)
      }
    }
    hidesUsers = try fields.bool("PreventUserExistenceErrors") ?? hidesUsers
    // Tests need shorter lifetimes than Cognito allows.
    idTokenLifetime = try fields.integer("IdTokenValidity", in: 1...86_400) ?? idTokenLifetime
    accessTokenLifetime =
      try fields.integer("AccessTokenValidity", in: 1...86_400) ?? accessTokenLifetime
    refreshTokenLifetime =
      try fields.integer("RefreshTokenValidity", in: 1...3650 * 86_400) ?? refreshTokenLifetime
    signInLifetime = try fields.integer("AuthSessionValidity", in: 1...900) ?? signInLifetime
    allowsRevocation = try fields.bool("EnableTokenRevocation") ?? allowsRevocation
    rotatesTokens = try fields.bool("RefreshTokenRotation") ?? rotatesTokens
    graceSeconds = try fields.integer("RetryGracePeriodSeconds", in: 0...60) ?? graceSeconds
    callbackURLs = try fields.texts("CallbackUrls") ?? callbackURLs
    logoutURLs = try fields.texts("LogoutUrls") ?? logoutURLs
    guard !rotatesTokens || !flows.contains(.refresh) else {
      throw fields.fault(
        "RefreshTokenRotation", "cannot be on while ALLOW_REFRESH_TOKEN_AUTH is allowed")
    }
  }

  private mutating func applySecrets(_ fields: inout FieldReader) throws(ServiceError) {
    let (one, several) = (
      try fields.optionalText("ClientSecret"), try fields.texts("ClientSecrets")
    )
    guard let secrets = several ?? one.map({ [$0] }) else { return }
    let name = several == nil ? "ClientSecret" : "ClientSecrets"
    guard one == nil || several == nil, secrets.count <= AppClient.maximumSecrets else {
      throw fields.fault(name, "must be at most \(AppClient.maximumSecrets), without ClientSecret")
    }
    guard secrets.allSatisfy({ InputRule.clientSecret.violation(of: $0, at: "") == nil }) else {
      throw fields.fault(name, "must have 24 to 64 letters, digits, _ or +")
    }
    self.secrets = secrets
  }

  var json: JSON {
    [
      "ClientId": .string(id), "ClientSecret": secrets.first.map { .string($0) } ?? .null,
      "ExplicitAuthFlows": .array(flows.map(\.rawValue).sorted().map { .string($0) }),
    ]
  }
}
