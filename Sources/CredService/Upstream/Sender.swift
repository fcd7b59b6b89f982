import CredCore

/// Sends requests and runs commands, and gets the files, libraries and computed values that they
/// need. It knows no sessions and no turns.
final class Sender {
  let services: UpstreamServices
  /// Called with each request that has ended and has a name in metrics.
  var requestEnded: ((EndedRequest) -> Void)?
  private let turns: CallTurns
  private let files: FilesBeingRead
  private let backendClocks: BackendClocks

  /// If an exchange takes longer, it fails and is tried again.
  static let awsTimeout: Duration = .seconds(10)
  /// How long work on a thread may take, including the wait for the work of other sign-ins.
  private static let proofTimeout: Duration = .seconds(10)

  init(_ services: UpstreamServices, _ turns: CallTurns) {
    self.services = services
    self.turns = turns
    files = FilesBeingRead(services)
    backendClocks = BackendClocks(services)
  }

  /// Runs `work` when the present event is over.
  func later(_ work: @escaping () -> Void) { turns.later(work) }

  /// Takes what a server's clock shows.
  private func note<Outcome>(_ time: WallTime, of exchange: Exchange<Outcome>) {
    if exchange.tellsTime {
      services.clock.recordServerTime(time)
    } else {
      backendClocks.note(time, of: exchange.upstream)
    }
  }

  // MARK: Requests and commands

  /// Sends a request and reads its reply. Its turn has come.
  func send<Outcome>(_ exchange: Exchange<Outcome>, _ done: @escaping Completion<Outcome>) {
    let (start, asked) = (services.clock.now, exchange.request.summary)
    services.http.send(exchange.request, exchange.settings) { [unowned self] result in
      let time = services.clock.now - start
      switch result {
      case .failure(let failure):
        let server = CalledServer(url: exchange.request.url, exchange.settings)
        let failure = UpstreamFailure.transport(failure, from: exchange.upstream, at: server)
          .with(request: asked, answer: failure.detail ?? failure.reason, took: time)
        report(exchange, failure, in: time)
        done(.failure(failure))
      case .success(var reply):
        reply.sent = SentSecrets(
          exchange.request.secretHeaders + exchange.secrets, names: exchange.names)
        reply.wentPlain = exchange.request.url.hasPrefix("http://")
        // A reply that a cache has kept has the time of its making.
        if let time = reply.date, ["0", nil].contains(reply.header("Age")) {
          note(time, of: exchange)
        }
        let outcome = Result { () throws(UpstreamFailure) in try exchange.read(reply) }
          .mapError { $0.with(request: asked, answer: "HTTP \(reply.status)", took: time) }
        report(exchange, outcome.failure, status: reply.status, in: time)
        done(outcome)
      }
    }
  }

  /// Runs a command and reads its output.
  func run<Outcome>(
    _ command: Command, reading read: @escaping (ExecOutcome) throws(UpstreamFailure) -> Outcome,
    _ done: @escaping Completion<Outcome>
  ) {
    let start = services.clock.now
    services.commands.run(command) { [unowned self] output in
      let time = services.clock.now - start
      var output = output
      output.sent = command.secrets
      let ending = output.ending.text
      done(
        Result { () throws(UpstreamFailure) in try read(output) }
          .mapError { $0.with(request: command.program, answer: ending, took: time) })
    }
  }

  /// - Parameter status: the status of the reply. If a provider answers 500 to a question about a
  ///   device code, it is asked again, and the sign-in does not fail.
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
    _ path: String, as text: FileText, key: String, for upstream: Upstream,
    _ done: @escaping Completion<Secret>
  ) {
    files.read(path, key: key) { content in
      guard let content else {
        let overdue = InvalidInput(field: key, reason: "\(path) does not answer")
        return done(.failure(.overdueFile(overdue, to: upstream)))
      }
      done(
        Result { () throws(UpstreamFailure) in
          try upstream.checked { () throws(InvalidInput) in
            try text.read(content.get(), path, as: key)
          }
        })
    }
  }

  /// Reads a small file if the configuration names it.
  func readFileIfNamed(
    _ path: String?, as text: FileText, key: String, for upstream: Upstream,
    _ done: @escaping Completion<Secret?>
  ) {
    guard let path else { return done(.success(nil)) }
    readFile(path, as: text, key: key, for: upstream) { done($0.map { $0 }) }
  }

  /// The values of headers or variables as their files hold them now.
  func readValues(
    _ files: ArraySlice<ValueFile>, for upstream: Upstream,
    _ done: @escaping Completion<[(name: String, value: Secret)]>
  ) {
    guard let file = files.first else { return done(.success([])) }
    readFile(file.path, as: .line, key: file.key, for: upstream) { [unowned self] value in
      switch value {
      case .failure(let failure): done(.failure(failure))
      case .success(let value):
        readValues(files.dropFirst(), for: upstream) { others in
          done(others.map { [(name: file.name, value: value)] + $0 })
        }
      }
    }
  }

  /// The secret of a client as its file holds it now; nil for a public client.
  func readClientSecret(
    _ path: String?, for upstream: Upstream, _ done: @escaping Completion<Secret?>
  ) {
    readFileIfNamed(path, as: .line, key: "client_secret_file", for: upstream, done)
  }

  /// The crypto library, for backends that sign and decrypt.
  func loadCrypto(for upstream: Upstream, _ done: @escaping Completion<any Crypto>) {
    services.crypto.load { crypto in
      done(crypto.map { .success($0) } ?? .failure(.transport(.noLibrary, from: upstream)))
    }
  }

  /// Computes a proof of a sign-in on a thread, because it takes milliseconds.
  func compute(
    _ proof: PoolProof, for upstream: Upstream, _ done: @escaping Completion<PoolProof.Result>
  ) {
    loadCrypto(for: upstream) { [unowned self] crypto in
      switch crypto {
      case .failure(let failure): later { done(.failure(failure)) }
      case .success(let crypto):
        let deadline = services.clock.now + Self.proofTimeout
        services.background.runOnce(.proofs, deadline: deadline) {
          proof.computed(by: crypto)
        } completion: { result in
          done(result.map { .success($0) } ?? .failure(.proofOverdue(for: upstream)))
        }
      }
    }
  }
}

/// Files that are being read, with the calls that wait for them. A file on a dead disk takes only
/// one thread; the other threads read other files.
final class FilesBeingRead {
  /// A file that the configuration names by a key.
  private struct NamedFile: Hashable {
    let path: String
    let key: String
  }

  typealias Content = Result<Secret, InvalidInput>

  private let services: UpstreamServices
  private var waiting: [NamedFile: [(Content?) -> Void]] = [:]
  /// Files that missed their deadline and are still being read.
  private var hanging: Set<NamedFile> = []

  /// If reading a small file takes longer, it hangs.
  private static let timeout: Duration = .seconds(5)

  init(_ services: UpstreamServices) {
    self.services = services
  }

  /// - Parameter done: gets nil if the file could not be read in time.
  func read(_ path: String, key: String, _ done: @escaping (Content?) -> Void) {
    let file = NamedFile(path: path, key: key)
    guard !hanging.contains(file) else { return done(nil) }
    waiting[file, default: []].append(done)
    guard waiting[file]?.count == 1 else { return }
    services.background.run(.files, deadline: services.clock.now + Self.timeout) {
      [queries = services.queries] in
      Result { () throws(InvalidInput) in try queries.file(path, key: key) }
    } completion: { [unowned self] outcome in
      let waiting = self.waiting.removeValue(forKey: file) ?? []
      switch outcome {
      case .finished(let content):
        hanging.remove(file)
        for done in waiting { done(content) }
      case .overdue(let isRunning):
        if isRunning { hanging.insert(file) }
        for done in waiting { done(nil) }
      }
    }
  }
}

extension Command {
  /// The program, without arguments, for operators: arguments may be secrets.
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
