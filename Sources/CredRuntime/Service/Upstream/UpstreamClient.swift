internal import CredCore
internal import Logging

/// Performs the calls of sessions: turns them into requests, sends them, reads the replies.
///
/// Runs on the loop. Every call ends: HTTP requests and commands have deadlines.
final class UpstreamClient {
  /// The Unix user a call is for.
  struct User: Sendable {
    let uid: UInt32
    /// Nil for a uid without a name.
    let name: String?
  }

  let loop: EventLoop
  let http: HTTPClient
  let commands: CommandRunner
  /// This host's name, for templates.
  let host: String
  private let cryptoLibrary: LateLibrary
  let clock: WallClock
  /// Developer credentials that a `credential_process` gave, by backend, until they run out.
  var developerCredentials: [String: DeveloperCredentials] = [:]
  /// The limits of AWS's endpoints.
  private(set) var daemon: DaemonSettings
  var gates: [Endpoint: Gate] = [:]
  /// Where each call waits that does.
  var places: [UInt64: Gate] = [:]
  /// Calls whose tasks have not begun, and whether somebody waits for them.
  var issued: [UInt64: Bool] = [:]
  var lastTicket: UInt64 = 0
  /// For all gates.
  private(set) var timer: EventSource?

  /// An exchange that takes longer is given up and tried again.
  static let awsTimeout: Duration = .seconds(10)

  init(
    loop: EventLoop, http: HTTPClient, host: String, daemon: DaemonSettings, clock: WallClock,
    log: Logger
  ) throws(SystemError) {
    self.clock = clock
    self.loop = loop
    self.http = http
    self.commands = CommandRunner(loop: loop)
    self.cryptoLibrary = LateLibrary(.crypto, loop: loop, log: log)
    self.host = host
    self.daemon = daemon
    timer = try loop.timer { [unowned self] _ in self.wakeGates() }
  }

  func make(_ call: UpstreamCall, _ profile: Profile, _ user: User) async -> UpstreamOutcome {
    do throws(UpstreamFailure) {
      switch call {
      case .signIn(let username, let password):
        return .signedIn(try await signIn(username, password, profile, user))
      case .readTokenFile:
        return .fileToken(try tokenFile(of: profile))
      case .tokenCallback(let identityID, let logins, let session):
        return outcome(try await token(identityID, logins, session, profile, user))
      case .getID(let logins):
        return .identity(try await identity(logins, profile))
      case .getOpenIDToken(let identityID, let logins):
        return outcome(try await openIDToken(identityID, logins, profile))
      case .getCredentials(let identityID, let logins, let role):
        return outcome(try await credentials(identityID, logins, role, profile), identityID)
      case .assumeRole(let identityID, let token):
        return outcome(try await assumeRole(token, profile, user), identityID)
      }
    } catch {
      return .failed(error)
    }
  }

  // MARK: Lifetimes by the server's clock

  private func outcome(_ reply: TokenReply) -> UpstreamOutcome {
    .token(
      identityID: reply.identity, token: reply.token,
      lifetime: reply.token.expiration.map { $0 - (reply.serverTime ?? loop.wallTime) })
  }

  private func outcome(_ reply: CredentialsReply, _ identityID: IdentityID) -> UpstreamOutcome {
    .credentials(
      reply.credentials, identityID: reply.identity ?? identityID,
      lifetime: reply.credentials.expiration - (reply.serverTime ?? loop.wallTime))
  }

  // MARK: Backends

  private func token(
    _ identityID: IdentityID?, _ logins: LoginsMap, _ session: BackendSession?, _ profile: Profile,
    _ user: User
  ) async throws(UpstreamFailure) -> TokenReply {
    guard let backend = profile.backend, let provider = profile.settings.developerProvider else {
      preconditionFailure("the plan of a profile without a backend makes no callbacks")
    }
    let identifier = try Self.usable(.backend(backend.name)) { () throws(InvalidInput) in
      try self.identifier(session?.developerUserIdentifier, of: user, profile)
    }
    let query = TokenQuery(
      pool: profile.pool, developerProvider: provider, userIdentifier: identifier,
      identity: identityID, logins: logins)
    switch backend.kind {
    case .http(let settings): return try await ask(settings, backend, query, session, user)
    case .exec(let settings): return try await ask(settings, backend, query)
    case .cognito(let settings): return try await ask(settings, backend, query, profile, user)
    case .awsSample(let settings): return try await ask(settings, backend, query, session)
    }
  }

  private func signIn(
    _ username: String, _ password: Secret, _ profile: Profile, _ user: User
  ) async throws(UpstreamFailure) -> BackendSession {
    guard let backend = profile.backend, let provider = profile.settings.developerProvider else {
      preconditionFailure("the plan of a profile without a backend takes no passwords")
    }
    switch backend.kind {
    case .http(let settings):
      return try await signIn(username, password, provider, settings, backend, user)
    case .awsSample(let settings):
      return try await signIn(username, password, settings, backend)
    case .exec, .cognito:
      preconditionFailure("the plan of a backend that trusts the host takes no passwords")
    }
  }

  /// Backends and limits may be others now: nothing that belongs to the old ones is used again.
  /// Gates stay, with their outages and queues, and take their next call's limits.
  func adopt(_ settings: DaemonSettings) {
    daemon = settings
    http.limitConnections(to: settings.upstreamConnections)
    developerCredentials = [:]
  }

  // MARK: Sending

  func send(
    _ request: HTTPRequest, _ settings: HTTPSettings, to upstream: Upstream
  ) async throws(UpstreamFailure) -> HTTPReply {
    switch await http.send(request, settings) {
    case .success(let reply):
      switch upstream {
      case .cognitoIdentity, .sts: if let time = reply.date { clock.note(time) }
      case .backend: break
      }
      return reply
    case .failure(let failure): throw .transport(failure, from: upstream)
    }
  }

  /// What signs and decrypts, for the backends that want it.
  func crypto(for upstream: Upstream) async throws(UpstreamFailure) -> Libcrypto {
    guard await cryptoLibrary.load() else { throw .transport(.noLibrary, from: upstream) }
    return Libcrypto()
  }

  /// Turns what stands in the way of a call into the failure of that call.
  static func usable<R>(
    _ upstream: Upstream, _ body: () throws(InvalidInput) -> R
  ) throws(UpstreamFailure) -> R {
    do { return try body() } catch { throw .notSent(error, to: upstream) }
  }

  // MARK: Templates

  /// The developer user identifier: the backend's own word for it, else the configured one.
  func identifier(
    _ known: String?, of user: User, _ profile: Profile
  ) throws(InvalidInput) -> String {
    if let known { return known }
    let identifier = try expand(profile.settings.userIdentifier, user, "user_identifier")
    guard identifier.unicodeScalars.count <= ConfigurationLimits.userIdentifierLength else {
      throw InvalidInput(field: "user_identifier", reason: "is too long for this user")
    }
    return identifier
  }

  func expand(_ template: Template, _ user: User, _ key: String) throws(InvalidInput) -> String {
    do {
      return try template.expand(user: user.name, uid: user.uid, host: host, encoding: .none)
    } catch {
      throw InvalidInput(field: key, reason: "\(error)")
    }
  }

  func expand(_ url: URLTemplate, _ user: User, _ key: String) throws(InvalidInput) -> String {
    do {
      return try url.expand(user: user.name, uid: user.uid, host: host)
    } catch {
      throw InvalidInput(field: key, reason: "\(error)")
    }
  }
}
