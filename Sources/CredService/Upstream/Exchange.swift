import CredCore

/// One request, with the function that reads its reply.
struct Exchange<Outcome> {
  let request: HTTPRequest
  let settings: HTTPSettings
  let upstream: Upstream
  /// The secrets in the body and the URL: they are hidden in texts of the reply. Headers are hidden
  /// too.
  let secrets: [Secret]
  /// Names of the configuration that texts of the reply may show: see ``SentSecrets``.
  var names: [String] = []
  let read: (HTTPReply) throws(UpstreamFailure) -> Outcome
  /// The name in metrics; nil for a part of a session's call, which is counted as a whole.
  var operation: String?
  /// Whether the exchange is made once more after a failure, with a newly prepared request.
  var isRepeated: (UpstreamFailure) -> Bool = { _ in false }
  /// Whether the clock may trust the server's time: only servers of AWS.
  var tellsTime: Bool

  init(
    request: HTTPRequest, settings: HTTPSettings, upstream: Upstream, secrets: [Secret] = [],
    operation: String? = nil, read: @escaping (HTTPReply) throws(UpstreamFailure) -> Outcome
  ) {
    self.operation = operation
    self.request = request
    self.settings = settings
    self.upstream = upstream
    self.secrets = secrets
    self.read = read
    tellsTime =
      switch upstream {
      case .cognitoIdentity, .sts: true
      case .backend: false
      }
  }
}

/// A call that is ready to be made.
enum PreparedCall {
  case exchange(Exchange<UpstreamOutcome>)
  case command(Command, read: (ExecOutcome) throws(UpstreamFailure) -> UpstreamOutcome)
  /// The outcome is known without a request.
  case outcome(UpstreamOutcome)
}

/// The parts of a token callback that come from its session.
struct TokenQueryParts {
  let identityID: IdentityID?
  let logins: LoginsMap
  let session: BackendSession?
  let isForced: Bool
  let caller: CallerNote?
  /// Whether a person has signed in to the session, or has an account linked to it.
  let isPersonal: Bool
}

extension Upstream {
  /// Turns a problem before a call into the failure of the call.
  func checked<R>(_ body: () throws(InvalidInput) -> R) throws(UpstreamFailure) -> R {
    do { return try body() } catch { throw .notSent(error, to: self) }
  }
}

// MARK: Lifetimes by the server's clock

extension UpstreamOutcome {
  init(_ reply: TokenReply, _ clock: any Clock) {
    self = .token(
      identityID: reply.identity, token: reply.token,
      lifetime: reply.token.lifetime(
        aws: clock.awsTime, others: [clock.wallTime] + [reply.serverTime].compactMap(\.self)))
  }

  init(_ reply: CredentialsReply, _ identityID: IdentityID?, _ clock: any Clock) {
    self = .credentials(
      reply.credentials, identityID: reply.identity ?? identityID,
      lifetime: reply.credentials.expiration - (reply.serverTime ?? clock.wallTime))
  }
}

extension UpstreamOutcome {
  /// The failure; nil for a success.
  var failure: UpstreamFailure? {
    if case .failed(let failure) = self { failure } else { nil }
  }
}

extension Result where Failure == UpstreamFailure {
  /// The failure; nil for a success.
  var failure: UpstreamFailure? {
    if case .failure(let failure) = self { failure } else { nil }
  }
}

// MARK: Templates

extension Sender {
  func expand(
    _ template: Template, _ user: UnixUser, _ key: String
  ) throws(InvalidInput) -> String {
    do {
      return try template.expand(
        user: user.name, uid: user.uid, host: services.hostName, encoding: .none)
    } catch {
      throw InvalidInput(field: key, reason: "\(error)")
    }
  }

  func expand(
    _ url: URLTemplate, _ user: UnixUser, _ key: String
  ) throws(InvalidInput) -> String {
    do {
      return try url.expand(user: user.name, uid: user.uid, host: services.hostName)
    } catch {
      throw InvalidInput(field: key, reason: "\(error)")
    }
  }
}
