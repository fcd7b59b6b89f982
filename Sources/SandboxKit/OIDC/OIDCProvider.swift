import FoundationEssentials

/// An OpenID Connect provider: clients, codes, token families and device codes. It shares no code
/// with the daemon's side of the protocol.
struct OIDCProvider: Sendable {
  /// The most entries of each kind that it keeps at once.
  static let maximumEntries = 10_000

  var settings = OIDCSettings()
  var clients: [String: OIDCClient] = [:]
  var codes: [String: OIDCCode] = [:]
  var families: [String: OIDCFamily] = [:]
  /// Refresh token → its family.
  var refreshTokens: [String: String] = [:]
  var devices: [String: OIDCDeviceCode] = [:]
  /// Identifiers of client assertions, each used once.
  var assertions: Set<String> = []
  /// How often each misuse happened, which tests forbid.
  var misuses: [String: Int] = [:]

  init() {
    var open = OIDCClient(id: OIDCClient.openID)
    open.redirectURIs = ["http://127.0.0.1/credd", "http://localhost:8976/"]
    clients[open.id] = open
    var confidential = OIDCClient(id: OIDCClient.confidentialID)
    confidential.secret = "s3cret:/+% sandbox"
    confidential.authentication = .post
    confidential.redirectURIs = open.redirectURIs
    clients[confidential.id] = confidential
  }

  mutating func count(_ misuse: String) { misuses[misuse, default: 0] += 1 }

  /// Drops ended entries, so that a long run does not need more memory.
  mutating func forget(endedBefore now: Date) {
    guard codes.count + refreshTokens.count + devices.count >= Self.maximumEntries else { return }
    codes = codes.filter { $0.value.expiration > now }
    devices = devices.filter { $0.value.expiration > now }
    families = families.filter { $0.value.expiration > now }
    refreshTokens = refreshTokens.filter { families[$0.value] != nil }
  }
}

/// The settings of the provider, and its deliberate faults.
struct OIDCSettings: Sendable {
  enum RedirectRule: String, Sendable, CaseIterable {
    /// Byte for byte, as Cognito, Auth0 and Okta compare.
    case exact
    /// RFC 8252, 7.3: any port at a loopback address.
    case loopback
  }

  /// How a reply says how long a device code lasts.
  enum LifetimeForm: String, Sendable, CaseIterable {
    case number
    case text
    /// Not at all, against RFC 8628.
    case none
  }

  /// How many of the next replies it concerns lie.
  enum Lie: String, Sendable, CaseIterable {
    /// An ID token of another sign-in.
    case nonce = "Nonce"
    /// The same at a renewal.
    case renewedNonce = "RenewedNonce"
    /// An ID token of another user, at a renewal.
    case subject = "Subject"
    case audience = "Audience"
    case party = "AuthorizedParty"
    case issuer = "Issuer"
    case expired = "Expired"
    /// `alg` is none, and there is no signature.
    case unsigned = "Unsigned"
    /// HS256, with the client's secret.
    case symmetric = "Symmetric"
    /// No ID token at a renewal.
    case noIDToken = "NoIdToken"
    /// A renewal is refused with 400 and an empty body.
    case emptyRefusal = "EmptyRefusal"
    /// A renewal is refused with an unknown error.
    case unknownError = "UnknownError"
    /// A wrong `iss` in the browser's response.
    case responseIssuer = "ResponseIssuer"
    case noResponseIssuer = "NoResponseIssuer"
    /// A second `code` in the browser's response.
    case secondCode = "SecondCode"
    /// Another issuer in the discovery document.
    case discovery = "Discovery"
    /// An error in place of a code.
    case errorResponse = "ErrorResponse"
  }

  /// The user who is signed in at the browser; if nil, the page asks.
  var signedInAs: String?
  var redirectRule = RedirectRule.loopback
  /// Whether the issuer ends in a slash, like Auth0's.
  var hasSlash = false
  /// Whether responses of the browser name the issuer, and the document announces that.
  var namesIssuer = true
  var givesIDTokenAtRenewal = true
  /// Whether renewed ID tokens repeat the nonce of the first one (OpenID Connect Core 1.0, 12.2).
  var givesNonceAtRenewal = false
  /// Whether ID tokens for several audiences name the client that asked (`azp`).
  var namesParty = true
  /// Refresh tokens only with `offline_access`.
  var wantsOfflineAccess = true
  /// In seconds.
  var codeLifetime = 300
  var tokenLifetime = 3600
  var refreshLifetime = 86_400
  var deviceLifetime = 600
  var deviceInterval = 5
  var deviceLifetimeForm = LifetimeForm.number
  var lies: [Lie: Int] = [:]

  /// Whether the next reply has this lie. If so, one of the lies is used up.
  mutating func takes(_ lie: Lie) -> Bool {
    guard let count = lies[lie], count > 0 else { return false }
    lies[lie] = count - 1
    return true
  }
}

struct OIDCClient: Sendable {
  static let openID = "sandbox-public"
  static let confidentialID = "sandbox-confidential"

  enum Authentication: String, Sendable, CaseIterable {
    case none
    case basic = "client_secret_basic"
    case post = "client_secret_post"
    case privateKey = "private_key_jwt"
  }

  enum Grant: String, Sendable, CaseIterable {
    case code = "authorization_code"
    case refresh = "refresh_token"
    case device = "urn:ietf:params:oauth:grant-type:device_code"
  }

  enum Rotation: String, Sendable, CaseIterable {
    case off
    case on
  }

  let id: String
  var secret: String?
  /// The key that verifies assertions: a private key in PEM, of which the public half is used.
  var keyPEM: String?
  var authentication = Authentication.none
  var redirectURIs: [String] = []
  var logoutURIs: [String] = []
  /// For whom its ID tokens are beside it.
  var audiences: [String] = []
  var grants = Set(Grant.allCases)
  var rotation = Rotation.on
  /// The seconds for which the previous refresh token is still accepted.
  var grace = 0

  init(id: String) {
    self.id = id
  }

  /// `aud`: one text, or a list.
  var audience: JSON {
    audiences.isEmpty ? .string(id) : .array(([id] + audiences).map { .string($0) })
  }
}

/// A code, bound to the parameters for which it was given.
struct OIDCCode: Sendable {
  let client: String
  let redirectURI: String
  let challenge: String
  let nonce: String?
  let scopes: [String]
  let user: String
  let signedIn: Date
  let expiration: Date
  /// Set also after a failed attempt.
  var isUsed = false
  /// The tokens that the code gave. A replay of the code ends them.
  var family: String?
}

/// All refresh tokens of one sign-in.
struct OIDCFamily: Sendable {
  let client: String
  let user: String
  let scopes: [String]
  let signedIn: Date
  let expiration: Date
  var current: String
  var previous: String?
  var rotated: Date?
  /// Of the sign-in by browser.
  var nonce: String?
  var isRevoked = false
}

struct OIDCDeviceCode: Sendable {
  enum State: Sendable, Equatable {
    case pending
    case approved(user: String)
    case denied
    case used
  }

  let client: String
  let userCode: String
  let scopes: [String]
  let expiration: Date
  var state = State.pending
  var interval: Int
  var lastPoll: Date?
  /// Polls before their time.
  var earlyPolls = 0
}

/// An error of OAuth 2.0, as a reply or as parameters of a redirect.
struct OAuthFault: Error, Equatable {
  var status = 400
  let name: String
  let description: String

  init(_ name: String, _ description: String, status: Int = 400) {
    self.name = name
    self.description = description
    self.status = status
  }

  static func invalidRequest(_ description: String) -> OAuthFault {
    OAuthFault("invalid_request", description)
  }

  static func invalidGrant(_ description: String) -> OAuthFault {
    OAuthFault("invalid_grant", description)
  }

  static func invalidClient(_ description: String) -> OAuthFault {
    OAuthFault("invalid_client", description, status: 401)
  }

  /// Some providers refuse with an empty body.
  static let withoutReason = OAuthFault("", "")

  var reply: HTTPReply {
    if name.isEmpty { return HTTPReply(status: status) }
    return HTTPReply(
      status: status, headers: [HTTPField("Cache-Control", "no-store")],
      json: ["error": .string(name), "error_description": .string(description)])
  }
}

/// A query or form in which no parameter may occur twice (RFC 6749, 3.1 and 3.2).
struct OAuthForm: Sendable {
  private var values: [String: String] = [:]

  init(_ text: String) throws(OAuthFault) {
    for pair in text.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = percentDecoded(parts[0], plusIsSpace: true),
        let value = percentDecoded(parts.count > 1 ? parts[1] : "", plusIsSpace: true)
      else { throw .invalidRequest("a parameter is not form-encoded UTF-8") }
      guard values.updateValue(value, forKey: name) == nil else {
        throw .invalidRequest("parameter \(name) stands twice")
      }
    }
  }

  /// The value; nil also if it is empty.
  subscript(_ name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

  func required(_ name: String) throws(OAuthFault) -> String {
    guard let value = self[name] else { throw .invalidRequest("\(name) is missing") }
    return value
  }

  var names: Set<String> { Set(values.keys) }
}
