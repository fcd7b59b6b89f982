extension FailureTable {
  // MARK: Replies of AWS without a known error name

  static let serverFault = Row(
    .transient(retryAfter: nil), nil, .expected, " has a fault; it is tried again",
    evidence: .likely)
  /// A gateway got no answer, or none that it understood.
  static let gatewayFault: Row = {
    var row = serverFault
    row.isReplyLost = true
    return row
  }()
  static let throttledByStatus = Row(
    .throttled(retryAfter: nil), .throttled, .expected,
    " is being asked too often; it is tried again", evidence: .likely)
  static let unknownRefusal = Row(
    .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
    " refuses the request for a reason that credd does not know: check the profile and the pool")

  // MARK: No request

  static let notSent = Row(
    .permanentConfiguration, nil, .operatorMustAct,
    " was not called, because the request would be invalid; check the profile and its backend")

  /// A dead disk or file server, which may come back.
  static let fileOverdue = Row(
    .transient(retryAfter: nil), nil, .operatorMustAct,
    " was not called, because a file that it needs could not be read in time; it is tried again: "
      + "check the disk or file server")

  // MARK: Calls that Admission prevents

  static func queueFull(of upstream: Upstream) -> Row {
    let keys =
      switch upstream {
      case .cognitoIdentity:
        "get_id_rate_limit, get_credentials_rate_limit or get_openid_token_rate_limit allows"
      case .sts: "assume_role_rate_limit allows"
      case .backend: "rate_limit or max_parallel of its section allows"
      }
    return Row(
      .throttled(retryAfter: nil), .throttled, .expected,
      " has more calls waiting than \(keys); it is tried again")
  }
  static let notAsked = Row(
    .transient(retryAfter: nil), nil, .expected,
    " was not asked: waiting for other calls or servers took the time of this check")
  static let retriesUsedUp = Row(
    .transient(retryAfter: nil), nil, .expected,
    " fails too often to be tried again at once; it is tried again later")

  // MARK: No reply, or a reply that cannot be read

  static let html = unavailable(webPageMessage, .operatorMustAct, evidence: .likely)
  private static let refusalPage = unavailable(webPageMessage, .operatorMustAct)
  private static let notFoundPage = unavailable(
    " answered with a web page: check the path of its URL (nothing was found there), or for a captive "
      + "portal or a proxy", .operatorMustAct)
  private static let webPageMessage =
    " answered with a web page; check for a captive portal or a proxy"
  /// 407, which only a proxy sends (RFC 9110 §15.5.8). That of an `https://` request does not come as a reply.
  static let proxyRefuses = unavailable(
    " cannot be reached: the proxy wants a user name and password; set them in http_proxy",
    .operatorMustAct, evidence: .likely)
  static let redirect = unavailable(
    " wants to redirect, which credd does not follow; check the URL, or for a captive portal",
    .operatorMustAct, evidence: .likely)
  static let malformedReply = unavailable(" sent a reply that cannot be used", .operatorMustAct)

  static func unavailable(
    _ message: String, _ severity: UpstreamFailure.Severity = .expected,
    evidence: UpstreamFailure.Evidence = .none
  ) -> Row {
    Row(.transient(retryAfter: nil), nil, severity, message, evidence: evidence)
  }

  // MARK: A backend's statuses

  /// The row for a web page in place of a backend's JSON. A gateway, a proxy or a captive portal
  /// has sent the page and chosen its status. Nil for another reply, and for a status that is about
  /// the network itself.
  static func webPage(_ reply: HTTPReply) -> Row? {
    guard reply.isWebPage else { return nil }
    switch reply.status {
    case 300..<400, 407, 429, 500...: return nil
    case 401: return unauthorizedPage
    case 404: return notFoundPage
    // A simple framework may have sent it about this one user.
    case 400..<500: return refusalPage
    default: return html
    }
  }

  /// Simple frameworks send it for an expired session, and gateways for any reason: a later try
  /// decides.
  private static let unauthorizedPage = unavailable(
    " answered with a web page, which a gateway may have sent in its place; it is tried again")

  /// The meaning of a token callback's status (contract, "Token callback").
  static func backend(status: Int) -> Row {
    switch status {
    case 401:
      Row(
        .signInRequired, .signInRequired, .expected,
        " wants the user to sign in")
    case 403:
      Row(
        .refusedByBackend, .backendRejected, .expected,
        " refuses this user: ask those who run it for access")
    case 404: unknownUser("user_identifier and url")
    case 407: proxyRefuses
    case 408: unavailable(" did not get the request in time; it is tried again")
    case 409:
      Row(
        .retryWithoutIdentity, .identityConflict, .operatorMustAct,
        " finds this user or one of the logins at another identity: unlink or merge them")
    case 429: throttledByStatus
    case 503: unavailable(" is not available now; it is tried again", evidence: .likely)
    case 511: html  // Network Authentication Required, RFC 6585 §6
    case 500...599: serverFault
    case 300..<400: redirect
    case 400..<500:
      Row(
        .permanentConfiguration, .backendRejected, .operatorMustAct,
        " finds the request wrong: check url and method, and whether it knows this identity_pool_id "
          + "and developer_provider")
    default: malformedReply
    }
  }

  private static func unknownUser(_ keys: String) -> Row {
    Row(
      .unknownUser, .backendRejected, .expected,
      " does not know this user: ask those who run it, or check \(keys)")
  }

  /// A web server answers so if it has nothing at the URL's path. A simple framework may answer so
  /// about this one user. A web page may be a gateway's: see ``webPage(_:)``.
  static let nothingAtPath = Row(
    .permanentConfiguration, nil, .operatorMustAct,
    " has nothing at this path, or does not know this user: check url, then user_identifier")

  /// Whether web servers and frameworks give this reply at an unknown path. A backend that does not
  /// know a user gives other words, or none.
  static func isOfPath(_ reply: HTTPReply, _ said: String?) -> Bool {
    let text = (said ?? reply.frameworksDetail ?? "").lowercased()
    switch reply.status {
    case 404:
      return ["not found", "not found."].contains(text)
        || ["404 ", "cannot post ", "cannot get "].contains(where: { text.hasPrefix($0) })
    // Amazon API Gateway's.
    case 403: return text == "missing authentication token"
    default: return false
    }
  }

  /// A backend passes on that Cognito does not know the pool for which it asked, whatever status it gives.
  static let backendMissesPool = Row(
    .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
    " says that Cognito does not know the identity pool: check identity_pool_id, its region, and whose "
      + "AWS account the backend uses")

  /// The words of Cognito as a backend may repeat them.
  static func missesPool(_ said: String?) -> Bool {
    guard let said = said?.lowercased() else { return false }
    return said.contains(bytesOf: "resourcenotfoundexception")
      && said.contains(bytesOf: "identitypool")
  }

  /// 401 or 403 with `"Code":"HostNotAuthorized"`: the backend does not accept this host. That
  /// concerns every user. Signing in does not help, so nobody is signed out.
  static let hostNotAuthorized = Row(
    .permanentConfiguration, .backendRejected, .operatorMustAct,
    " does not accept this host: renew the token in bearer_token_file, or the client certificate"
  ).ofTheHost

  /// A backend without sign-in by users answers 401 to the host's bearer token: only the operator
  /// can act.
  static let hostRefused = Row(
    .permanentConfiguration, .backendRejected, .operatorMustAct,
    " does not accept this host's bearer token: check bearer_token_file"
  ).ofTheHost

  /// The same to a host that shows no such token.
  static let hostUnknown = Row(
    .permanentConfiguration, .backendRejected, .operatorMustAct,
    " does not know this host, and has no login_url at which users could sign in: check what the host "
      + "shows it (bearer_token_file, header.NAME, client_certificate or unix_socket); of a user it "
      + #"must say 404, or 401 with "Code":"SignInRequired""#
  ).ofTheHost

  /// The meaning of a sign-in's status. Most statuses mean the same as in a token callback.
  static func signIn(status: Int) -> Row {
    switch status {
    case 400, 401, 403, 404, 422:
      Row(
        .signInFailed, .signInFailed, .expected,
        " refuses the sign-in: check user name and password")
    default: backend(status: status)
    }
  }

  /// The meaning of a sign-up's status.
  static func signUp(status: Int) -> Row {
    switch status {
    case 400, 422:
      Row(
        .refusedByBackend, .accountRefused, .expected,
        " does not take this user name, password or attribute")
    case 401, 403:
      Row(
        .refusedByBackend, .accountRefused, .expected,
        " does not allow sign-up: ask its operator")
    case 406, 409:
      Row(.refusedByBackend, .accountRefused, .expected, " has this user name already")
    case 404:
      Row(
        .permanentConfiguration, .backendRejected, .operatorMustAct,
        " does not know the path; check register_url")
    default: backend(status: status)
    }
  }

  static let wrongPool = Row(
    .permanentConfiguration, .poolMisconfigured, .operatorMustAct,
    " answered for another identity pool than the profile's; check identity_pool_id on both sides")

  // MARK: A command's exit statuses (sysexits.h)

  static func exec(exitStatus: Int32) -> Row {
    switch exitStatus {
    case 67:  // EX_NOUSER
      unknownUser("user_identifier")
    case 69, 75:  // EX_UNAVAILABLE, EX_TEMPFAIL
      unavailable(" is not available now; it is tried again", evidence: .likely)
    case 77:  // EX_NOPERM
      backend(status: 403)
    case 64, 78, 126, 127:  // EX_USAGE, EX_CONFIG; not executable, not found
      Row(
        .permanentConfiguration, .backendUnavailable, .operatorMustAct,
        ": its command cannot be run as configured; check command")
    default: unavailable(": its command failed; it is tried again", .operatorMustAct)
    }
  }

  static let execNotStarted = Row(
    .permanentConfiguration, .backendUnavailable, .operatorMustAct,
    ": its command cannot be started; check command and its permissions")
  static let execNoResources = unavailable(
    ": its command cannot be started now; it is tried again",
    .operatorMustAct)
  static let execKilled = unavailable(
    ": its command was killed; it is tried again", .operatorMustAct)
}
