import CredCore

/// Takes the result of a request to an upstream, later.
typealias Completion<Value> = (Result<Value, UpstreamFailure>) -> Void

/// Sends requests, runs commands, and fetches what calls want before. It knows no sessions and no
/// turns.
final class Sender {
  private let services: UpstreamServices
  /// Called with each request that has ended and has a name in metrics.
  var requestEnded: ((EndedRequest) -> Void)?
  private let files: FilesBeingRead
  private let developerCredentials: DeveloperCredentialsCache
  private let backendClocks: BackendClocks

  /// How long work on a thread may take, including the wait for the work of other sign-ins.
  private static let proofTimeout: Duration = .seconds(10)

  init(_ services: UpstreamServices, _ developerCredentials: DeveloperCredentialsCache) {
    self.services = services
    self.developerCredentials = developerCredentials
    files = FilesBeingRead(services)
    backendClocks = BackendClocks(services)
  }

  // MARK: Requests and commands

  /// Sends a request and reads its reply. Its turn has come.
  func send<Reply>(_ exchange: Exchange<Reply>, _ done: @escaping Completion<Reply>) {
    let (start, request) = (services.clock.now, exchange.request)
    services.http.send(request.http, request.settings) { [unowned self] result in
      let time = services.clock.now - start
      switch result {
      case .failure(let failure):
        let failure = request.failure(failure, after: time)
        report(request, failure, in: time)
        done(.failure(failure))
      case .success(var reply):
        reply.sent = SentSecrets(request.http.secretHeaders + request.secrets, names: request.names)
        reply.wentPlain = request.http.url.hasPrefix("http://")
        noteTime(of: reply, to: request)
        let outcome = Result { () throws(UpstreamFailure) in try exchange.read(reply) }.mapError {
          $0.with(request: request.http.summary, answer: "HTTP \(reply.status)", took: time)
        }
        report(request, outcome.failure, status: reply.status, in: time)
        done(outcome)
      }
    }
  }

  /// Takes what a server's clock shows. A reply that a cache has kept has the time of its making.
  private func noteTime(of reply: HTTPReply, to request: UpstreamRequest) {
    guard let time = reply.date, ["0", nil].contains(reply.header("Age")) else { return }
    if request.tellsTime {
      services.clock.recordServerTime(time)
    } else {
      backendClocks.note(time, of: request.upstream)
    }
  }

  /// Runs a command and reads its output.
  func run<Outcome>(_ command: PreparedCommand<Outcome>, _ done: @escaping Completion<Outcome>) {
    let (start, run) = (services.clock.now, command.command)
    services.commands.run(run) { [unowned self] output in
      let time = services.clock.now - start
      var output = output
      output.sent = run.secrets
      let ending = output.ending.text
      done(
        Result { () throws(UpstreamFailure) in try command.read(output) }
          .mapError { $0.with(request: run.program, answer: ending, took: time) })
    }
  }

  /// - Parameter status: the status of the reply. If a provider answers 500 to a question about a
  ///   device code, it is asked again, and the sign-in does not fail.
  private func report(
    _ request: UpstreamRequest, _ failure: UpstreamFailure?, status: Int = 0, in time: Duration
  ) {
    guard let operation = request.operation else { return }
    let isServersError = failure == nil && status >= 500
    requestEnded?(
      EndedRequest(
        upstream: request.upstream, operation: operation,
        code: isServersError ? .backendUnavailable : failure?.code,
        isUpstreamsFault: isServersError || failure?.failureClass.isTransient ?? false,
        duration: time))
  }

  // MARK: What calls want

  /// Fetches anything but a document, which takes a turn.
  ///
  /// - Parameter done: called when the inputs have it, perhaps at once.
  func fetch(_ want: CallInputs.Want, for inputs: CallInputs, _ done: @escaping () -> Void) {
    switch want {
    case .file(let file):
      files.read(file) { content in
        inputs.files[file] = .some(content)
        done()
      }
    case .crypto:
      services.crypto.load { library in
        inputs.crypto = .some(library)
        done()
      }
    case .signer(let key, let timeout):
      developerCredentials.signer(for: key, timeout: timeout) { signer in
        inputs.signer = signer
        done()
      }
    case .assertion(let work):
      services.background.runOnce(.proofs, deadline: proofDeadline, work) { assertion in
        inputs.assertion = .some(assertion)
        done()
      }
    case .proof(let work):
      services.background.runOnce(.proofs, deadline: proofDeadline, work) { proof in
        inputs.proof = .some(proof)
        done()
      }
    case .document: preconditionFailure("the call that wants a document asks for it in its turn")
    }
  }

  private var proofDeadline: Instant { services.clock.now + Self.proofTimeout }
}

extension UpstreamRequest {
  /// The failure of a request without a reply.
  func failure(_ failure: TransportFailure, after time: Duration) -> UpstreamFailure {
    .transport(failure, from: upstream, at: CalledServer(url: http.url, settings))
      .with(request: http.summary, answer: failure.detail ?? failure.reason, took: time)
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
