import CredCore
import CredService
import SimulationKit

/// Sends requests to a function of the test. Replies come after a time, and never within `send`.
final class FakeHTTP: HTTPSending {
  struct Answer {
    var result: Result<HTTPReply, TransportFailure>
    var time = Duration.zero

    static func reply(
      _ status: Int, _ body: String, headers: [(String, String)] = [], after time: Duration = .zero
    ) -> Answer {
      let headers = headers.map { HTTPReply.Header(name: $0.0, value: $0.1) }
      return Answer(
        result: .success(HTTPReply(status: status, headers: headers, body: Secret(body))),
        time: time)
    }

    static func failure(_ failure: TransportFailure) -> Answer {
      Answer(result: .failure(failure))
    }

    /// Nothing comes until the settings' timeout.
    static let silence = Answer(result: .failure(.timeout), time: .seconds(1_000_000))
  }

  var answer: (HTTPRequest) -> Answer = { _ in .failure(.connect) }
  /// How long the sender of the request that is being answered waits.
  private(set) var patience = Duration.zero
  /// Replies that are due wait for ``deliver()``.
  var holds = false
  private var held: [(Result<HTTPReply, TransportFailure>?) -> Void] = []
  private(set) var requests: [HTTPRequest] = []
  /// Requests that were not answered yet.
  private(set) var underWay = 0
  private let clock: VirtualClock
  private let trace: Trace
  private var timers: [Int: any Timer] = [:]

  init(_ clock: VirtualClock, _ trace: Trace) {
    self.clock = clock
    self.trace = trace
  }

  func send(
    _ request: HTTPRequest, _ settings: HTTPSettings,
    completion: @escaping (Result<HTTPReply, TransportFailure>) -> Void
  ) {
    trace.add("send \(request.operation)")
    requests.append(request)
    underWay += 1
    patience = settings.timeout
    var answer = answer(request)
    if answer.time > settings.timeout {
      answer = Answer(result: .failure(.timeout), time: settings.timeout)
    }
    let number = requests.count
    let finish = { [unowned self] (result: Result<HTTPReply, TransportFailure>?) in
      underWay -= 1
      trace.add("reply \(request.operation)")
      completion(result ?? answer.result)
    }
    let timer = clock.makeTimer { [unowned self] in
      timers[number] = nil
      if holds { held.append(finish) } else { finish(nil) }
    }
    timers[number] = timer
    timer.arm(at: clock.now + answer.time)
  }

  /// All replies that are due come now, or another one in place of each.
  func deliver(_ other: Result<HTTPReply, TransportFailure>? = nil) {
    let due = held
    held = []
    for finish in due { finish(other) }
  }
}

extension HTTPRequest {
  /// What it asks for: an operation of AWS, or the last part of a backend's path.
  var operation: String {
    if let target = header("X-Amz-Target") {
      return String(target.drop { $0 != "." }.dropFirst())
    }
    if let form = body.exposedText(), form.hasPrefix("Action=") {
      return String(form.dropFirst(7).prefix { $0 != "&" })
    }
    return String(url.split(separator: "/").last?.prefix { $0 != "?" } ?? "")
  }

  func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value.exposedText()
  }

  /// The body, where it is JSON.
  var json: JSONValue? { try? JSONValue.parse(body.bytes) }
}

/// Runs commands by a function of the test.
final class FakeCommands: CommandRunning {
  var outcome: (Command) -> ExecOutcome = { _ in
    ExecOutcome(ending: .notStarted(StartFailure(reason: "no command")))
  }
  /// What a command takes, up to its timeout.
  var time = Duration.zero
  private(set) var commands: [Command] = []
  private let clock: VirtualClock
  private var timers: [Int: any Timer] = [:]

  init(_ clock: VirtualClock) {
    self.clock = clock
  }

  func run(_ command: Command, completion: @escaping (ExecOutcome) -> Void) {
    commands.append(command)
    let isLate = time > command.timeout
    let (number, outcome) = (
      commands.count, isLate ? ExecOutcome(ending: .timedOut) : outcome(command)
    )
    let timer = clock.makeTimer { [unowned self] in
      timers[number] = nil
      completion(outcome)
    }
    timers[number] = timer
    timer.arm(at: clock.now + min(time, command.timeout))
  }
}

/// A crypto library, or none. Its completion comes at once, as that of a loaded library does.
final class FakeCrypto: CryptoLoading {
  var isInstalled = true

  func load(completion: @escaping ((any Crypto)?) -> Void) {
    completion(isInstalled ? ToyCrypto() : nil)
  }
}
