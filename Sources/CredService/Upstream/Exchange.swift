import CredCore

/// One request with the way to read its reply.
struct Exchange<Outcome> {
  let request: HTTPRequest
  let settings: HTTPSettings
  let upstream: Upstream
  /// What the body and the URL hold that is secret, hidden in texts that come back. Headers are
  /// hidden too.
  let secrets: [Secret]
  let read: (HTTPReply) throws(UpstreamFailure) -> Outcome
  /// Its name in metrics; nil for a part of a session's call, which is counted as a whole.
  var operation: String?
  /// Whether a failure is worth one more request, which is prepared anew.
  var isRepeated: (UpstreamFailure) -> Bool = { _ in false }
  /// Whether the clock may trust the server: it is AWS's own.
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

extension UpstreamClient {
  /// Makes a call whose turn has come. The outcome comes later, never within this function; for a
  /// call that is cancelled before it is sent, never.
  ///
  /// - Parameter first: why it is made once more.
  func make(
    _ request: CallRequest, after first: UpstreamFailure? = nil,
    _ done: @escaping (UpstreamOutcome) -> Void
  ) {
    prepare(request.call, request.profile, request.user, request.caller) {
      [unowned self] prepared in
      guard mayBeSent(request.id) else { return }
      switch prepared {
      case .success(.exchange(let exchange)):
        send(exchange) { [unowned self] result in
          if let failure = result.failure, exchange.isRepeated(failure), first == nil {
            return make(request, after: failure, done)
          }
          done(result.mapError { $0.following(first) }.outcome)
        }
      case .success(.command(let command, let read)):
        let start = services.clock.now
        services.commands.run(command) { [unowned self] output in
          let time = services.clock.now - start
          var output = output
          output.sent = command.secrets
          let ending = output.ending.text
          done(
            Result { () throws(UpstreamFailure) in try read(output) }
              .mapError {
                $0.with(request: command.program, answer: ending, took: time)
              }
              .outcome)
        }
      case .success(.outcome(let outcome)):
        later { done(outcome) }
      case .failure(let failure):
        later { done(.failed(failure)) }
      }
    }
  }

  private func prepare(
    _ call: UpstreamCall, _ profile: Profile, _ user: UnixUser, _ caller: CallerNote?,
    _ done: @escaping Completion<PreparedCall>
  ) {
    switch call {
    case .signIn(let username, let password):
      prepareSignIn(username, password, profile, user, done)
    case .renewPoolTokens(let session, let way):
      renewPoolTokens(session, way, profile.giving(session), user, done)
    case .readTokenFile:
      readTokenFile(of: profile, done)
    case .tokenCallback(let identityID, let logins, let session, let isForced):
      var query = TokenQueryParts(identityID: identityID, logins: logins, session: session)
      query.isForced = isForced
      query.caller = caller
      prepareToken(query, profile, user, done)
    case .getID(let logins):
      done(Result { () throws(UpstreamFailure) in .exchange(try getID(logins, profile)) })
    case .getOpenIDToken(let identityID, let logins):
      done(.success(.exchange(getOpenIDToken(identityID, logins, profile))))
    case .getCredentials(let identityID, let logins, let role):
      done(.success(.exchange(getCredentials(identityID, logins, role, profile))))
    case .assumeRole(let identityID, let token):
      assumeRole(identityID, token, profile, user, done)
    }
  }

  /// Sends a request and reads its reply.
  func send<Outcome>(_ exchange: Exchange<Outcome>, _ done: @escaping Completion<Outcome>) {
    let (start, asked) = (services.clock.now, exchange.request.summary)
    services.http.send(exchange.request, exchange.settings) { [unowned self] result in
      let time = services.clock.now - start
      switch result {
      case .failure(let failure):
        let failure = UpstreamFailure.transport(failure, from: exchange.upstream)
          .with(request: asked, answer: failure.detail ?? failure.reason, took: time)
        report(exchange, failure, in: time)
        done(.failure(failure))
      case .success(var reply):
        reply.sent = SentSecrets(exchange.request.secretHeaders + exchange.secrets)
        if exchange.tellsTime, let time = reply.date { services.clock.recordServerTime(time) }
        let outcome = Result { () throws(UpstreamFailure) in try exchange.read(reply) }
          .mapError { $0.with(request: asked, answer: "HTTP \(reply.status)", took: time) }
        report(exchange, outcome.failure, status: reply.status, in: time)
        done(outcome)
      }
    }
  }

  /// - Parameter status: a provider that answers a question for a device code by 500 is asked again,
  ///   without a failure of the sign-in.
  private func report<Outcome>(
    _ exchange: Exchange<Outcome>, _ failure: UpstreamFailure?, status: Int = 0, in time: Duration
  ) {
    guard let operation = exchange.operation else { return }
    let isServersError = failure == nil && status >= 500
    requestEnded?(
      EndedRequest(
        upstream: exchange.upstream, operation: operation,
        code: isServersError ? .backendUnavailable : failure?.code,
        isUpstreamsFault: isServersError || failure?.failureClass.isTransient ?? false,
        duration: time))
  }

  // MARK: What calls need

  /// Reads a small file that the configuration names. It may have been replaced since the last time.
  func readFile(
    _ path: String, key: String, for upstream: Upstream, _ done: @escaping Completion<Secret>
  ) {
    let file = NamedFile(path: path, key: key)
    func finish(_ content: FileContent?) {
      guard let content else {
        let overdue = InvalidInput(field: key, reason: "\(path) does not answer")
        return done(.failure(.overdueFile(overdue, to: upstream)))
      }
      done(content.mapError { .notSent($0, to: upstream) })
    }
    guard !hangingFiles.contains(file) else { return finish(nil) }
    filesBeingRead[file, default: []].append(finish)
    guard filesBeingRead[file]?.count == 1 else { return }
    services.background.run(.files, deadline: services.clock.now + Self.fileTimeout) {
      [queries = services.queries] in
      Result { () throws(InvalidInput) in try queries.file(path, key: key) }
    } completion: { [unowned self] outcome in
      let waiting = filesBeingRead.removeValue(forKey: file) ?? []
      switch outcome {
      case .finished(let content):
        hangingFiles.remove(file)
        for finish in waiting { finish(content) }
      case .overdue(let isRunning):
        if isRunning { hangingFiles.insert(file) }
        for finish in waiting { finish(nil) }
      }
    }
  }

  /// The same for a file that need not be configured.
  func readFileIfNamed(
    _ path: String?, key: String, for upstream: Upstream, _ done: @escaping Completion<Secret?>
  ) {
    guard let path else { return done(.success(nil)) }
    readFile(path, key: key, for: upstream) { done($0.map { $0 }) }
  }

  /// The crypto library, for backends that sign and decrypt.
  func loadCrypto(for upstream: Upstream, _ done: @escaping Completion<any Crypto>) {
    services.crypto.load { crypto in
      done(crypto.map { .success($0) } ?? .failure(.transport(.noLibrary, from: upstream)))
    }
  }

  /// Turns a problem before the call into the failure of the call.
  static func checked<R>(
    _ upstream: Upstream, _ body: () throws(InvalidInput) -> R
  ) throws(UpstreamFailure) -> R {
    do { return try body() } catch { throw .notSent(error, to: upstream) }
  }

  // MARK: Lifetimes by the server's clock

  func outcome(_ reply: TokenReply) -> UpstreamOutcome {
    .token(
      identityID: reply.identity, token: reply.token,
      lifetime: reply.token.expiration.map { $0 - (reply.serverTime ?? services.clock.wallTime) })
  }

  func outcome(_ reply: CredentialsReply, _ identityID: IdentityID) -> UpstreamOutcome {
    .credentials(
      reply.credentials, identityID: reply.identity ?? identityID,
      lifetime: reply.credentials.expiration - (reply.serverTime ?? services.clock.wallTime))
  }

  // MARK: Templates

  /// The developer user identifier: the backend's own, else the configured one.
  func identifier(
    _ known: String?, of user: UnixUser, _ profile: Profile
  ) throws(InvalidInput) -> String {
    if let known { return known }
    let identifier = try expand(profile.settings.userIdentifier, user, "user_identifier")
    guard identifier.unicodeScalars.count <= Limits.Upstream.userIdentifierLength else {
      throw InvalidInput(field: "user_identifier", reason: "is too long for this user")
    }
    return identifier
  }

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

extension Result where Failure == UpstreamFailure {
  /// Nil for a success.
  var failure: UpstreamFailure? {
    if case .failure(let failure) = self { failure } else { nil }
  }
}

extension Result<UpstreamOutcome, UpstreamFailure> {
  fileprivate var outcome: UpstreamOutcome {
    switch self {
    case .success(let outcome): outcome
    case .failure(let failure): .failed(failure)
    }
  }
}

extension Command {
  /// The program, for operators. Arguments may be secrets.
  fileprivate var program: String { arguments.first ?? "" }
}

extension ExecOutcome.Ending {
  fileprivate var text: String {
    switch self {
    case .exited(let status): "exit status \(status)"
    case .killed(let signal): "killed by signal \(signal)"
    case .timedOut: "killed at its deadline"
    case .outputTooLarge: "killed, as it wrote too much"
    case .notStarted(let failure): "not started: \(failure.reason)"
    }
  }
}
