/// Errors of OpenID Connect providers (RFC 6749, 4.1.2.1 and 5.2; RFC 7009, 8628; OpenID Connect Core
/// 1.0, 3.1.2.6), and the deviations of providers in use.
extension FailureTable {
  /// The first row that fits.
  static func oidc(_ reply: HTTPReply, _ error: OAuthError?, _ purpose: OIDCPurpose) -> Row {
    if let row = wantsTLS(reply) { return row }
    // Such a server has a fault, even if the error is about the token.
    if let row = ofTheServer(reply, hasError: error != nil) { return row }
    if let error, let row = rows(of: purpose).first(where: { $0.name == error.name }) { return row }
    switch reply.status {
    case 404, 405: return noSuchURL
    case 400..<500: return refusalWithoutReason(purpose)
    default: return malformedReply
    }
  }

  private static func ofTheServer(_ reply: HTTPReply, hasError: Bool) -> Row? {
    switch reply.status {
    case 300..<400: redirect
    case 407: proxyRefuses
    case 408:
      Row(
        .transient(retryAfter: nil), nil, .expected,
        " did not get the request in time; it is tried again")
    case 429: throttledByStatus
    case 511: html
    case 500...: serverFault
    // A web firewall, a proxy or a captive portal.
    case _ where reply.looksLikeHTML: html
    case 200..<300 where !hasError: malformedReply
    default: nil
    }
  }

  static func rows(of purpose: OIDCPurpose) -> [Row] {
    let own =
      switch purpose {
      case .discovery: [Row]()
      case .signIn: codeExchange
      case .deviceStart, .deviceCode: device
      case .renewal: providerRenewal
      case .revocation: providerRevocation
      }
    return own + anyTokenRequest
  }

  // MARK: Rows by name

  private static func signInFails(_ name: String, _ message: String) -> Row {
    Row(name, .signInFailed, .signInFailed, .expected, message)
  }

  private static func misconfigured(_ name: String, _ message: String) -> Row {
    Row(name, .permanentConfiguration, .poolMisconfigured, .operatorMustAct, message)
  }

  private static func atFault(_ name: String, _ message: String) -> Row {
    ofTheProvider(Row(name, .transient(retryAfter: nil), nil, .expected, message))
  }

  /// The row as evidence about the upstream endpoint's availability.
  private static func ofTheProvider(_ row: Row) -> Row {
    var row = row
    row.evidence = .likely
    return row
  }

  private static let refusedCode =
    " does not take the code of this sign-in: it is too old or was used, or redirect_uri is another "
    + "one than that registered; sign in again"

  private static let codeExchange: [Row] = [
    signInFails("invalid_grant", refusedCode),
    // The name that glewlwyd uses.
    signInFails("invalid_code", refusedCode),
    signInFails("access_denied", " refuses the sign-in"),
  ]

  private static let device: [Row] = [
    signInFails("access_denied", " says that the sign-in was refused there"),
    signInFails("expired_token", " says that the code was not typed in time: sign in again"),
    signInFails("invalid_grant", " does not know the device code any more: sign in again"),
    misconfigured(
      "unauthorized_client",
      " does not allow this client to sign in by a device code: allow it there, or take device out "
        + "of sign_in"),
  ]

  private static let providerRenewal: [Row] = [
    Row(
      "invalid_grant", .signInRequired, .signInRequired, .expected,
      " no longer accepts this session: sign in again"),
    Row(
      "access_denied", .signInRequired, .signInRequired, .expected,
      " refuses to renew this session: sign in again"),
    // Errors of OpenID Connect providers that require the user to act.
    Row(
      "interaction_required", .signInRequired, .signInRequired, .expected,
      " wants the user to act: sign in again"),
    Row(
      "login_required", .signInRequired, .signInRequired, .expected,
      " wants the user to sign in again"),
    Row(
      "consent_required", .signInRequired, .signInRequired, .expected,
      " wants the user to consent: sign in again"),
  ]

  private static let providerRevocation: [Row] = [
    signInFails("invalid_grant", " has ended this session before").with(.alreadyDone),
    signInFails("invalid_token", " has ended this session before").with(.alreadyDone),
    misconfigured(
      "unsupported_token_type", " does not revoke refresh tokens: the session ends there by itself"),
  ]

  private static let anyTokenRequest: [Row] = [
    misconfigured(
      "invalid_client",
      " does not accept this client: check client_id, client_authentication and the file of its "
        + "secret or key; a secret with other characters than letters, digits and -._~ may need "
        + "client_authentication = post"),
    misconfigured(
      "unauthorized_client", " does not allow this to the client: check its grants at the provider"),
    misconfigured(
      "unsupported_grant_type",
      " does not offer this way to the client: check its grants at the provider"),
    misconfigured("invalid_scope", " does not give the client these scopes: check scopes"),
    misconfigured(
      "invalid_request", " finds the request malformed: check the client at the provider"),
    misconfigured("invalid_target", " does not know the resource or audience: check authorize.…"),
    atFault("temporarily_unavailable", " is not available now; it is tried again"),
    atFault("server_error", " has a fault; it is tried again"),
    ofTheProvider(
      Row(
        "slow_down", .throttled(retryAfter: nil), .throttled, .expected,
        " is being asked too often; it is tried again")),
  ]

  private static let noSuchURL = Row(
    .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
    " has nothing at the URL that was called: check issuer, domain and the …_endpoint keys")

  /// A renewal was refused without a reason: some providers answer so for an expired token.
  private static func refusalWithoutReason(_ purpose: OIDCPurpose) -> Row {
    switch purpose {
    case .renewal:
      Row(
        .signInRequired, .signInRequired, .operatorMustAct,
        " refuses to renew this session and does not say why: sign in again"
      ).with(.onceMore)
    case .signIn, .deviceCode:
      Row(
        .signInFailed, .signInFailed, .operatorMustAct,
        " refuses the sign-in for a reason that credd does not know: check the client there")
    case .discovery, .deviceStart, .revocation:
      Row(
        .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
        " refuses the request for a reason that credd does not know: check the client there")
    }
  }

  // MARK: What a browser brings

  static let authorization: [Row] = [
    signInFails("access_denied", " says that the sign-in was refused there"),
    signInFails("login_required", " wants a sign-in there, and prompts were switched off"),
    signInFails("interaction_required", " wants the user to act, and prompts were switched off"),
    signInFails("consent_required", " wants the user's consent, and prompts were switched off"),
    signInFails("account_selection_required", " wants the user to choose an account"),
    misconfigured(
      "invalid_request", " finds the request malformed: check authorize.… and the client"),
    misconfigured("unauthorized_client", " does not allow this client to sign users in"),
    misconfigured(
      "unsupported_response_type",
      " does not give codes to this client: allow the authorization code grant there"),
    misconfigured("invalid_scope", " does not give the client these scopes: check scopes"),
    atFault("temporarily_unavailable", " is not available now: sign in again later"),
    atFault("server_error", " has a fault: sign in again later"),
  ]

  static let unknownAuthorizationError = Row(
    .signInFailed, .signInFailed, .operatorMustAct,
    " ended the sign-in with an error that credd does not know")

  static let unusableResponse = Row(
    .signInFailed, .signInFailed, .operatorMustAct,
    " cannot be believed in this sign-in: begin it anew, and ask those who run the provider if this "
      + "stays")

  // MARK: Documents and tokens

  static let unusableProvider = Row(
    .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
    " has a discovery document that "
      + "does not fit")

  static let unusableKeys = Row(
    .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
    " publishes no keys at the jwks_uri of its discovery document, by which Cognito verifies ID tokens"
  )

  static let refusedIDToken = Row(
    .signInFailed, .tokenRejected, .operatorMustAct, " gave an ID token that credd does not accept")

  /// The next renewal may succeed, so the session keeps its refresh token.
  static let refusedRenewedIDToken = Row(
    .permanentConfiguration, .tokenRejected, .operatorMustAct,
    " gave an ID token that credd does not accept")

  static let anotherSubject = Row(
    .signInRequired, .signInRequired, .operatorMustAct,
    " gave another user's tokens, and the session was ended: sign in again")

  static let withdrawnAccount = Row(
    .signInRequired, .signInRequired, .operatorMustAct,
    " renewed the session of an account that may not be used by this user any more, and the session "
      + "was ended: sign in with another account")

  static let noIDTokenAtSignIn = Row(
    .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
    " gave no ID token, which the identity pool needs: scopes must have openid")

  static let noIDTokenAtRenewal = Row(
    .signInRequired, .signInRequired, .operatorMustAct,
    " gives no ID token when a session is renewed, so its sessions end with their first one: sign in "
      + "again, and switch ID tokens on for refresh tokens at the provider")

  static let noRefreshToken = Row(
    .signInRequired, .signInRequired, .expected,
    " gave no refresh token, and the tokens of the sign-in have ended: sign in again; for sessions "
      + "that last, scopes must have offline_access, and the client must be allowed refresh tokens")

  static let movedProvider = Row(
    .signInRequired, .signInRequired, .operatorMustAct,
    " is not the one that gave this session's tokens, so they are not sent there: "
      + "sign in again")

  static let noDeviceGrant = Row(
    .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
    " has no device_authorization_endpoint: Cognito's user pools have none at all; sign in by "
      + "browser, or with --paste")
}
