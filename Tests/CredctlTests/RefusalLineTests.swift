@testable import CredCore
import CredctlKit
import TestSupport
import Testing

/// Every line that credctl prints when the daemon refuses a request. A changed line shows here.
struct RefusalLineTests {
  private func line(_ error: ProtocolError) -> String {
    let seconds = error.retryAfter.map { Int($0.components.seconds) }
    var refusal = Refusal(
      code: error.code.rawValue, message: error.message, retryAfter: seconds,
      kind: error.kind.rawValue)
    refusal.reason = error.reason
    let failure = Failure(refusal, profile: "work")
    return "\(error.code.rawValue) \(failure.status.code) \(failure.message)\n"
  }

  private func lines(_ upstream: Upstream, _ rows: [FailureTable.Row]) -> String {
    rows.map { row in
      let failure = UpstreamFailure(upstream, row)
      // The pause differs from one failure to the next.
      return line(failure.protocolError).replacing("; ask again in 1 s", with: "")
        .replacing(": ask again in 1 s", with: "")
    }.joined()
  }

  @Test func aCodesKindIsThatOfItsExitStatus() {
    let statuses: [ProtocolErrorKind: Set<Int32>] = [
      .request: [64, 69], .denied: [77], .signIn: [77], .temporary: [75], .permanent: [69],
    ]
    for code in ProtocolErrorCode.allCases {
      let refusal = Refusal(code: code.rawValue, message: "m", retryAfter: 1)
      let status = Failure(refusal, profile: nil).status.code
      expect(statuses[code.kind]?.contains(status) == true, "\(code)")
    }
  }

  /// No script is to answer a backend that refuses the host with a login.
  @Test func aCodeThatMeansSeveralThingsIsJudgedByItsKind() {
    let statuses: [ProtocolErrorKind: Int32] = [
      .denied: 77, .signIn: 77, .temporary: 75, .permanent: 69,
    ]
    for (kind, status) in statuses {
      for code in [ProtocolErrorCode.backendRejected, .backendUnavailable, .tokenRejected] {
        let refusal = Refusal(
          code: code.rawValue, message: "m", retryAfter: 1, kind: kind.rawValue)
        expect(Failure(refusal, profile: nil).status.code, equals: status, "\(code) \(kind)")
      }
    }
  }

  @Test func cognito() {
    expect(
      lines(.cognitoIdentity, FailureTable.cognito),
      equals: """
        TokenRejected 77 Cognito says the token has expired: sign in again; if the backend gave it, check the backend's cache and clock
        TokenRejected 77 Cognito does not accept the token's signature: the backend must pass on a token from Cognito itself
        TokenRejected 77 Cognito says this is no token of its own: the backend must pass on the one from GetOpenIdTokenForDeveloperIdentity
        IdentityConflict 69 Cognito refuses a developer token in GetId: the IdentityId must come with it, from the backend; tell the administrator of this host
        PoolMisconfigured 69 Cognito refuses the role: check role_arn, or the role that the login named, and the role's trust; tell the administrator of this host
        TokenRejected 77 Cognito says the token does not belong to this identity: credd asks for the identity anew; try again
        PoolMisconfigured 69 Cognito says the logins are not those of this identity: check developer_provider and the pool; tell the administrator of this host
        PoolMisconfigured 69 Cognito says the token was issued by another provider than its key in logins names: correct the key, which is provider_name in the section of a user-pool or oidc backend; tell the administrator of this host
        PoolMisconfigured 69 Cognito has guests switched off in this pool: enable them there or set guest = no; tell the administrator of this host
        SignInFailed 77 Cognito finds several roles for this login and none chosen: sign in with custom_role_arn (--custom-role-arn of credctl)
        TokenRejected 77 Cognito does not accept the token: sign in again; if the backend gave it, tell those who run it
        PoolMisconfigured 69 Cognito does not know this identity or pool: check identity_pool_id; tell the administrator of this host
        PoolMisconfigured 69 Cognito finds an id malformed: check identity_pool_id and the backend's IdentityId; tell the administrator of this host
        IdentityConflict 69 Cognito has this login linked to another identity: unlink or merge them; tell the administrator of this host
        IdentityConflict 69 Cognito has this user registered with another identity than the one passed: merge the two; tell the administrator of this host
        PoolMisconfigured 69 Cognito finds no usable role: attach one to the pool and let it trust Cognito Identity; tell the administrator of this host
        CognitoUnavailable 75 Cognito could not reach the login's provider; it is tried again
        CognitoUnavailable 75 Cognito changed this identity at the same moment; it is tried again
        PoolMisconfigured 69 Cognito refuses a parameter: check the pool, the provider name and role_arn; tell the administrator of this host

        """)
  }

  @Test func sts() {
    expect(
      lines(.sts, FailureTable.sts),
      equals: """
        TokenRejected 77 STS says the token has expired: sign in again; if the backend gave it, check the backend's cache and clock
        TokenRejected 77 STS does not accept the token: sign in again; if this stays, check the pool's provider in IAM
        CognitoUnavailable 75 STS could not reach the token's issuer; it is tried again
        TokenRejected 77 STS says the token's issuer rejected it: it has expired or was revoked; sign in again
        PoolMisconfigured 69 STS may not assume the role: check role_arn, and that the role trusts this pool (aud) and its authenticated users (amr); tell the administrator of this host
        PoolMisconfigured 69 STS cannot read the session policy: check policy_file; tell the administrator of this host
        PoolMisconfigured 69 STS finds the session policy too large: shorten policy_file or policy_arns; tell the administrator of this host
        PoolMisconfigured 69 STS is not switched on in this region: activate it in the account; tell the administrator of this host
        PoolMisconfigured 69 STS does not allow so long a session: lower duration or raise the role's limit; tell the administrator of this host
        PoolMisconfigured 69 STS refuses a parameter: check role_arn, role_session_name and duration; tell the administrator of this host

        """)
  }

  /// Of the calls that a source's credentials sign.
  @Test func derived() {
    expect(
      lines(.sts, FailureTable.scope),
      equals: """
        PoolMisconfigured 69 STS does not take the source's credentials, not even new ones: tell the administrator of this host
        PoolMisconfigured 69 STS does not let the source's role narrow itself: allow sts:GetScopedCredentials to it, or use a second role (role_arn with policy_file); tell the administrator of this host
        PoolMisconfigured 69 STS does not know GetScopedCredentials here: use a second role (role_arn with policy_file); tell the administrator of this host
        PoolMisconfigured 69 STS does not take the source's credentials, not even new ones: tell the administrator of this host
        PoolMisconfigured 69 STS does not take the source's credentials, not even new ones: tell the administrator of this host
        PoolMisconfigured 69 STS does not take the source's credentials, not even new ones: tell the administrator of this host
        PoolMisconfigured 69 STS does not take the source's credentials, not even new ones: tell the administrator of this host
        PoolMisconfigured 69 STS cannot read the session policy: check policy_file; tell the administrator of this host
        PoolMisconfigured 69 STS finds that the policy and the tags do not fit into the session's token: shorten them; tell the administrator of this host
        PoolMisconfigured 69 STS refuses a parameter: check the profile's keys; tell the administrator of this host
        PoolMisconfigured 69 STS: the signature's time is wrong; set this host's clock; tell the administrator of this host
        PoolMisconfigured 69 STS: the signature's time is wrong; set this host's clock; tell the administrator of this host
        PoolMisconfigured 69 STS: the signature's time is wrong; set this host's clock; tell the administrator of this host
        PoolMisconfigured 69 STS finds the signature wrong: check region and sts_endpoint; tell the administrator of this host
        PoolMisconfigured 69 STS finds the signature not complete: does sts_endpoint pass all headers on?; tell the administrator of this host
        PoolMisconfigured 69 STS got no signature: does sts_endpoint pass all headers on?; tell the administrator of this host

        """)
    expect(
      lines(.sts, Array(FailureTable.hop.prefix(4))),
      equals: """
        PoolMisconfigured 69 STS may not assume the role: let its trust policy allow the source's role sts:AssumeRole, and sts:TagSession and sts:SetSourceIdentity where the profile sets them; tell the administrator of this host
        PoolMisconfigured 69 STS is not switched on in this region: activate it in the account; tell the administrator of this host
        PoolMisconfigured 69 STS does not allow so long a session: lower duration or raise the role's limit; tell the administrator of this host
        PoolMisconfigured 69 STS does not know AssumeRole here: check sts_endpoint; tell the administrator of this host

        """)
  }

  @Test func aws() {
    let statuses = [
      FailureTable.serverFault, FailureTable.throttledByStatus, FailureTable.unknownRefusal,
      FailureTable.notSent,
    ]
    expect(
      lines(.cognitoIdentity, FailureTable.anyService + statuses),
      equals: """
        Throttled 75 Cognito is being asked too often; it is tried again
        Throttled 75 Cognito has reached a limit of the account; it is tried again
        Throttled 75 Cognito is being asked too often; it is tried again
        Throttled 75 Cognito is being asked too often; it is tried again
        Throttled 75 Cognito is being asked too often; it is tried again
        CognitoUnavailable 75 Cognito has a fault; it is tried again
        CognitoUnavailable 75 Cognito has a fault; it is tried again
        CognitoUnavailable 75 Cognito is not available; it is tried again
        CognitoUnavailable 75 Cognito is not available; it is tried again
        CognitoUnavailable 75 Cognito has a fault; it is tried again
        Throttled 75 Cognito is being asked too often; it is tried again
        PoolMisconfigured 69 Cognito refuses the request for a reason that credd does not know: check the profile and the pool; tell the administrator of this host
        CognitoUnavailable 69 Cognito was not called, because the request would be invalid; check the profile and its backend; tell the administrator of this host

        """)
  }

  @Test func developerCredentials() {
    expect(
      lines(.backend("corp"), FailureTable.signature),
      equals: """
        BackendUnavailable 75 backend 'corp': the developer credentials have expired; renew them
        BackendUnavailable 75 backend 'corp': the developer credentials have expired; renew them
        BackendUnavailable 69 backend 'corp': the signature's time is wrong; set this host's clock; tell the administrator of this host
        BackendUnavailable 69 backend 'corp': the signature's time is wrong; set this host's clock; tell the administrator of this host
        BackendUnavailable 69 backend 'corp': the signature's time is wrong; set this host's clock; tell the administrator of this host
        BackendUnavailable 69 backend 'corp': the signature's time is wrong; set this host's clock; tell the administrator of this host
        BackendUnavailable 69 backend 'corp': the signature's time is wrong; set this host's clock; tell the administrator of this host
        BackendRejected 69 backend 'corp': the developer credentials are wrong; check the secret key; tell the administrator of this host
        BackendRejected 69 backend 'corp': the developer credentials are wrong; check the secret key; tell the administrator of this host
        BackendRejected 69 backend 'corp': AWS does not know the developer credentials; check the access key, and that the account has this region switched on; tell the administrator of this host
        BackendRejected 69 backend 'corp': AWS does not know the developer credentials; check the access key, and that the account has this region switched on; tell the administrator of this host
        BackendRejected 69 backend 'corp': the account of the developer credentials may not use Cognito here; activate the account, or this region in it; tell the administrator of this host
        BackendRejected 69 backend 'corp': the developer credentials may not call cognito-identity:GetOpenIdTokenForDeveloperIdentity; allow it in IAM; tell the administrator of this host
        BackendRejected 69 backend 'corp': the signature is missing; configure developer credentials; tell the administrator of this host
        BackendRejected 69 backend 'corp': the signature is missing; configure developer credentials; tell the administrator of this host
        BackendRejected 69 backend 'corp': the signature is not complete; check that the access key is one, without blanks; tell the administrator of this host
        BackendRejected 69 backend 'corp': the signature is not complete; check that the access key is one, without blanks; tell the administrator of this host

        """)
  }

  @Test func backend() {
    let statuses = [401, 403, 404, 408, 429, 503, 511, 500, 302, 400, 204]
    expect(
      lines(.backend("corp"), statuses.map { FailureTable.backend(status: $0) }),
      equals: """
        SignInRequired 77 backend 'corp' wants the user to sign in: sign in with 'credctl login --profile work'
        BackendRejected 77 backend 'corp' refuses this user: ask those who run it for access
        BackendRejected 77 backend 'corp' does not know this user: ask those who run it, or check user_identifier and url
        BackendUnavailable 75 backend 'corp' did not get the request in time; it is tried again
        Throttled 75 backend 'corp' is being asked too often; it is tried again
        BackendUnavailable 75 backend 'corp' is not available now; it is tried again
        BackendUnavailable 75 backend 'corp' answered with a web page; check for a captive portal or a proxy
        BackendUnavailable 75 backend 'corp' has a fault; it is tried again
        BackendUnavailable 75 backend 'corp' wants to redirect, which credd does not follow; check the URL, or for a captive portal
        BackendRejected 69 backend 'corp' finds the request wrong: check url and method, and whether it knows this identity_pool_id and developer_provider; tell the administrator of this host
        BackendUnavailable 75 backend 'corp' sent a reply that cannot be used

        """)
  }

  @Test func hostThatTheBackendRefuses() {
    expect(
      lines(.backend("corp"), [FailureTable.hostRefused, FailureTable.hostUnknown]),
      equals: """
        BackendRejected 69 backend 'corp' does not accept this host's bearer token: check bearer_token_file; tell the administrator of this host
        BackendRejected 69 backend 'corp' does not know this host, and has no login_url at which users could sign in: check what the host shows it (bearer_token_file, header.NAME, client_certificate or unix_socket); of a user it must say 404, or 401 with "Code":"SignInRequired"; tell the administrator of this host

        """)
  }

  @Test(arguments: [
    ("request", 64), ("denied", 77), ("signIn", 77), ("temporary", 75), ("permanent", 69),
    ("newKind", 69),
  ])
  func aCodeThatIsNotKnownIsJudgedByItsKind(kind: String, status: Int32) {
    let refusal = Refusal(code: "NewCode", message: "m", kind: kind)
    expect(Failure(refusal, profile: "work").status.code, equals: status)
  }

  @Test func signIn() {
    expect(
      lines(.backend("corp"), [401, 429, 500].map { FailureTable.signIn(status: $0) }),
      equals: """
        SignInFailed 77 backend 'corp' refuses the sign-in: check user name and password
        Throttled 75 backend 'corp' is being asked too often; it is tried again
        BackendUnavailable 75 backend 'corp' has a fault; it is tried again

        """)
  }

  @Test func transport() {
    let failures: [TransportFailure] = [
      .nameResolution, .connect, .tls, .notTLS, .certificate, .otherHost, .ownFile, .clientRefused,
      .timeout, .reset, .tooLarge, .malformed, .noLibrary, .fileOverdue,
    ]
    let rows =
      failures.map { FailureTable.transport($0) } + [
        FailureTable.html, FailureTable.redirect, FailureTable.malformedReply,
        FailureTable.wrongPool,
      ]
    expect(
      lines(.backend("corp"), rows),
      equals: """
        BackendUnavailable 75 backend 'corp': its host name cannot be resolved; check the URL, the network and DNS
        BackendUnavailable 75 backend 'corp' cannot be reached; check the network, the URL and the proxy
        BackendUnavailable 75 backend 'corp': the TLS handshake failed; it is tried again
        BackendUnavailable 75 backend 'corp': the port does not speak TLS; is it http:// ? check the URL, or for a captive portal
        BackendUnavailable 75 backend 'corp': its certificate is not trusted; check ca_file, this host's clock, or for a captive portal
        BackendUnavailable 75 backend 'corp': its certificate is for another host; check the URL, or for a captive portal
        BackendUnavailable 69 backend 'corp' was not called: this host's client certificate cannot be used; check ca_file, client_certificate and client_key; tell the administrator of this host
        BackendUnavailable 75 backend 'corp' does not accept this host's client certificate, or wants one; check client_certificate
        BackendUnavailable 75 backend 'corp' did not answer in time; it is tried again
        BackendUnavailable 75 backend 'corp' broke the connection off; it is tried again
        BackendUnavailable 75 backend 'corp' sent more than its limit; the answer was dropped
        BackendUnavailable 75 backend 'corp' did not answer in HTTP; check the URL
        BackendUnavailable 75 backend 'corp' cannot be called: a library cannot be loaded on this host; check credd's journal and the packages of libcurl and OpenSSL
        BackendUnavailable 75 backend 'corp' was not called, because a file that it needs could not be read in time; it is tried again: check the disk or file server
        BackendUnavailable 75 backend 'corp' answered with a web page; check for a captive portal or a proxy
        BackendUnavailable 75 backend 'corp' wants to redirect, which credd does not follow; check the URL, or for a captive portal
        BackendUnavailable 75 backend 'corp' sent a reply that cannot be used
        PoolMisconfigured 69 backend 'corp' answered for another identity pool than the profile's; check identity_pool_id on both sides; tell the administrator of this host

        """)
  }

  @Test func session() {
    let machine = [
      ProtocolError(.signInRequired, "nobody is signed in"),
      ProtocolError(.signInRequired, "signed out"),
      ProtocolError(.signInRequired, "the developer token is used up"),
      ProtocolError(.signInRequired, "this sign-in has no developer token"),
      ProtocolError(.signInRequired, "the sign-in is no longer accepted"),
      ProtocolError(
        .signInRequired, "the sign-in is no longer accepted: Cognito does not accept the token"),
      ProtocolError(
        .signInRequired, "backend 'staff' no longer accepts this session: sign in again (Revoked)"),
      ProtocolError(.signInFailed, "another sign-in to the same profile took its place"),
      ProtocolError(.signInFailed, "a logout of the same profile came in between"),
      ProtocolError(.timeout, "no answer from upstream yet; the sign-in goes on"),
      ProtocolError(
        .timeout, "no answer from upstream yet; the refresh goes on", retryAfter: .seconds(1)),
      ProtocolError(.tooManyRequests, "refreshed a moment ago", retryAfter: .seconds(2)),
      ProtocolError(.invalidRequest, "min_ttl asks for 7200 s, but tokens last 600 s"),
    ]
    expect(
      machine.map(line).joined(),
      equals: """
        SignInRequired 77 nobody is signed in: sign in with 'credctl login --profile work'
        SignInRequired 77 signed out: sign in with 'credctl login --profile work'
        SignInRequired 77 the developer token is used up: sign in with 'credctl login --profile work'
        SignInRequired 77 this sign-in has no developer token: sign in with 'credctl login --profile work'
        SignInRequired 77 the sign-in is no longer accepted: sign in with 'credctl login --profile work'
        SignInRequired 77 the sign-in is no longer accepted: Cognito does not accept the token; sign in with 'credctl login --profile work'
        SignInRequired 77 backend 'staff' no longer accepts this session: sign in again with 'credctl login --profile work' (Revoked)
        SignInFailed 77 another sign-in to the same profile took its place
        SignInFailed 77 a logout of the same profile came in between
        Timeout 75 no answer from upstream yet; the sign-in goes on
        Timeout 75 no answer from upstream yet; the refresh goes on; ask again in 1 s
        TooManyRequests 75 refreshed a moment ago: ask again in 2 s
        InvalidRequest 64 min_ttl asks for 7200 s, but tokens last 600 s

        """)
  }

  @Test func daemon() {
    let errors = [
      ProtocolError(.invalidRequest, "profile 'work' has no backend that takes passwords"),
      ProtocolError(.signInRequired, "profile 'work' needs a password"),
      ProtocolError(.tooManyRequests, "too many sign-ins that failed", retryAfter: .seconds(8)),
      ProtocolError(.tooManyRequests, "this user has too many connections"),
      ProtocolError(.unknownProfile, "there is no profile 'wrok'; did you mean 'work'?"),
      ProtocolError(
        .unknownProfile,
        "no profile is configured on this host: ask its administrator to add one to credd.conf"),
      ProtocolError(.accessDenied, "profile 'work' is not available to 'eve'"),
      ProtocolError(
        .accessDenied,
        "profile 'work' is not open to root: run it without sudo, or add root to allow_users"),
      ProtocolError(
        .accessDenied,
        "uid 7 has no user name on this host, and profile 'work' needs one (with user_identifier = "
          + "{uid} it would need none)"),
      ProtocolError(.accessDenied, "only root may see everyone's sessions"),
      ProtocolError(
        .timeout, "the host's user database did not say who uid 7 is", retryAfter: .seconds(5)),
      ProtocolError(.unknownOperation, "unknown operation \"get2\""), .requestTooLarge,
      ProtocolError(.shuttingDown, "the daemon is stopping; try again"),
      ProtocolError(.internal, "it failed"),
      ProtocolError(
        .backendUnavailable, "backend 'corp' is not available now; it is tried again (status 503)",
        retryAfter: .seconds(30)),
    ]
    expect(
      errors.map(line).joined(),
      equals: """
        InvalidRequest 64 profile 'work' has no backend that takes passwords
        SignInRequired 77 profile 'work' needs a password: sign in with 'credctl login --profile work'
        TooManyRequests 75 too many sign-ins that failed: ask again in 8 s
        TooManyRequests 75 this user has too many connections: try again later
        UnknownProfile 64 there is no profile 'wrok'; did you mean 'work'?
        UnknownProfile 64 no profile is configured on this host: ask its administrator to add one to credd.conf
        AccessDenied 77 profile 'work' is not available to 'eve': ask the administrator for access
        AccessDenied 77 profile 'work' is not open to root: run it without sudo, or add root to allow_users
        AccessDenied 77 uid 7 has no user name on this host, and profile 'work' needs one (with user_identifier = {uid} it would need none): ask the administrator for access
        AccessDenied 77 only root may see everyone's sessions: ask the administrator for access
        Timeout 75 the host's user database did not say who uid 7 is: ask again in 5 s
        UnknownOperation 69 unknown operation "get2": credd is older than this credctl; upgrade and restart it
        RequestTooLarge 64 a request line must not be longer than 524288 bytes
        ShuttingDown 75 the daemon is stopping; try again
        Internal 69 it failed: see 'journalctl -u credd'
        BackendUnavailable 75 backend 'corp' is not available now; it is tried again (status 503); ask again in 30 s

        """)
  }

  @Test func command() {
    let rows = [67, 69, 77, 78, 1].map { FailureTable.exec(exitStatus: $0) }
    expect(
      lines(
        .backend("script"), rows + [FailureTable.execNotStarted, FailureTable.execKilled]),
      equals: """
        BackendRejected 77 backend 'script' does not know this user: ask those who run it, or check user_identifier
        BackendUnavailable 75 backend 'script' is not available now; it is tried again
        BackendRejected 77 backend 'script' refuses this user: ask those who run it for access
        BackendUnavailable 69 backend 'script': its command cannot be run as configured; check command; tell the administrator of this host
        BackendUnavailable 75 backend 'script': its command failed; it is tried again
        BackendUnavailable 69 backend 'script': its command cannot be started; check command and its permissions; tell the administrator of this host
        BackendUnavailable 75 backend 'script': its command was killed; it is tried again

        """)
  }
}
