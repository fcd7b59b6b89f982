import CredCore
import CredctlKit
import Logging
import ServiceTesting
import Testing

@testable import CredService
@testable import ServiceTesting

/// A story of everyday life with credd, and everything that a person would see of it.
///
/// The service, its upstreams and the clock are the tests' own; credctl is the real program.
final class Story {
  /// What stands in the golden file, line by line.
  private(set) var lines: [String]
  let fixture: ServiceFixture
  private let journal: StoryJournal
  private let before: Metrics
  private(set) var alerts: AlertWatch
  private var programs: [StoryProgram] = []
  private var runs: Int32 = 0
  /// How far this host's clock is from the right time.
  private let clockError: Duration
  private var sampler: (any CredService.Timer)?
  private let observer: TestClient
  /// What `status` says of sockets, where the story is about them.
  private var sockets: [ClientSocket] = []

  /// - Parameters:
  ///   - title: its first line.
  ///   - configuration: credd.conf.
  ///   - clockError: this host's clock minus the right time.
  ///   - files: files that the configuration names.
  init(
    _ title: String, _ configuration: String, clockError: Duration = .zero,
    files: [String: String] = [:]
  ) throws {
    let host = FakeHost()
    host.queries.files = files
    self.clockError = clockError
    host.clock.wallClockJump = Self.noon + clockError
    host.upstreams.dateSkew = .zero - clockError
    fixture = try ServiceFixture(configuration, host: host)
    journal = StoryJournal(host.log, fixture.service.configuration.daemon.logLevel)
    observer = fixture.connect(uid: 0, pid: 4299, groups: [0])
    lines = ["# \(title)", ""]
    before = try Self.metrics(observer)
    alerts = AlertWatch(from: host.clock.wallTime + (.zero - clockError))
    host.clock.reportSkew = { [log = host.log.logger] in log.report($0) }
    sampler = host.clock.makeTimer { [unowned self] in self.sample() }
    sample()
  }

  /// Stories begin at 12:00:00, not when the virtual clock does.
  private static let noon = Duration.seconds(-(10 * 3600 + 13 * 60 + 20))

  var upstreams: FakeUpstreams { fixture.host.upstreams }
  var clock: VirtualClock { fixture.host.clock }

  // MARK: What happens

  /// Says what happens elsewhere.
  func tell(_ what: String) { lines.append("\(time) -- \(what)") }

  /// The same, and does it.
  func tell(_ what: String, _ act: () throws -> Void) rethrows {
    tell(what)
    try act()
    collect()
  }

  /// A person runs credctl.
  ///
  /// - Parameters:
  ///   - words: its arguments. Of `status` the real program gets the reply as JSON, and shows it by the
  ///     same function with the virtual time: its own clock is the real one.
  ///   - input: what is written to its standard input.
  ///   - socket: where it connects.
  ///   - columns: of `check`, the terminal's width; its reply is then shown as that of `status` is.
  @discardableResult
  func run(
    _ words: String, by person: Person = .alice, input: String = "",
    at socket: ClientSocket = .main, columns: Int? = nil
  ) throws -> CredctlRun.Result {
    let typed = input.isEmpty ? "" : "echo \(input.debugDescription) | "
    let place = socket == .main ? "" : "--socket \(socket.path) "
    lines.append("\(time) \(person.prompt) \(typed)credctl \(place)\(words)")
    let arguments = words.split(separator: " ").map(String.init)
    let isStatus = arguments.first == "status"
    let showsReply = isStatus || columns != nil
    // Each run is a process of its own.
    runs += 1
    let peer = Peer(uid: person.peer.uid, gid: person.peer.gid, pid: person.peer.pid + runs)
    let client = { [fixture] in
      TestClient(
        fixture.service, fixture.host.clock, peer: peer, groups: person.groups, at: socket)
    }
    let line = input.isEmpty ? "" : input + "\n"
    let result = try CredctlRun.result(arguments + (showsReply ? ["--json"] : []), input: line) {
      // The server asks before it makes a client.
      if let error = self.fixture.service.refusal(at: socket) {
        return String(decoding: RenderedReply.error(error).bytes.dropLast(), as: UTF8.self)
      }
      // Each request of credctl has a connection of its own, as far as the service can see.
      return try client().ask($0).text
    }
    if isStatus, result.status == 0 {
      append("|", try status(result.output))
    } else if let columns, !result.output.isEmpty {
      append("|", try check(result.output, columns: columns))
    } else {
      append("|", result.output)
    }
    append("!", result.errors)
    lines.append("  exit status \(result.status)")
    collect(during: true)
    return result
  }

  /// An administrator changes credd.conf and reloads it, as ``CredRuntime/Daemon`` does it.
  func reload(_ configuration: String) throws {
    lines.append("\(time) root# systemctl reload credd")
    let name = "/etc/credd/credd.conf"
    let source = ConfigurationSource(name: name, bytes: Array(configuration.utf8))
    let files = fixture.host.queries.files
    let reading = Configuration.read(
      [source],
      policyFile: { path in
        files[path].map { .success(Array($0.utf8)) } ?? .failure(InvalidValue("cannot be read"))
      }, environment: { _ in nil })
    if reading.configuration == nil {
      fixture.service.refuseConfiguration(
        reading.diagnostics.filter { $0.severity == .error }.map(\.description))
    } else {
      try fixture.reload(configuration)
    }
    report()
    collect()
    lines += [
      "\(time) root# systemctl status credd", "  | Status: \(fixture.service.summary.text)",
    ]
  }

  /// Clients connect at these sockets, as ``CredRuntime/SocketSections`` reports them.
  func listen(at sockets: [ClientSocket]) {
    self.sockets = sockets
    report()
  }

  private func report() {
    guard !sockets.isEmpty else { return }
    fixture.service.listeners = sockets.map {
      ListenerReport(
        $0.isCapped ? .capped : .socket, address: $0.path.description,
        problem: fixture.service.problem(of: $0, among: sockets))
    }
  }

  /// A program of a person asks for credentials every minute from now on.
  func start(_ program: StoryProgram) {
    programs.append(program)
    program.start(fixture)
    collect()
  }

  /// Time goes by, with everything that is due.
  func pass(_ duration: Duration) {
    let end = clock.now + duration
    while let next = clock.nextDeadline, next <= end {
      clock.advance(to: next)
      collect()
    }
    clock.advance(to: end)
    collect()
    lines += journal.rest().map { "  \(time) \($0)" }
  }

  /// What is there of the story an hour later.
  func end() throws -> Telling {
    lines.append("\(time) -- an hour goes by")
    pass(.seconds(3600))
    let changes = try Self.metrics(observer).changes(since: before)
    lines += ["", "## Metrics that changed", ""] + (changes.isEmpty ? ["none"] : changes)
    return Telling(text: Masks.version(in: lines.joined(separator: "\n") + "\n"), alerts: alerts)
  }

  // MARK: What is seen

  private var time: String { String(clock.wallTime.iso8601.dropFirst(11).prefix(8)) }

  private func append(_ mark: String, _ text: String) {
    lines += text.split(separator: "\n", omittingEmptySubsequences: false)
      .dropLast(text.hasSuffix("\n") || text.isEmpty ? 1 : 0).map { "  \(mark) \($0)".trimmed }
  }

  /// As on a wide terminal without colours.
  private func status(_ reply: String) throws -> String {
    StatusReport(try JSONValue.parse(Array(reply.utf8)), now: clock.wallTime)
      .rendered(on: TextTable.Display(width: 160, hasColour: false))
  }

  private func check(_ reply: String, columns: Int) throws -> String {
    CheckReport(try JSONValue.parse(Array(reply.utf8)))
      .rendered(on: TextTable.Display(width: columns, hasColour: false))
  }

  /// What the journal and the programs got since the last look.
  ///
  /// - Parameter isDuring: whether that came while credctl ran.
  private func collect(during isDuring: Bool = false) {
    lines += journal.news().map { isDuring ? "  \($0)" : "  \(time) \($0)" }
    lines += programs.flatMap { $0.news() }.map { "  \(time) \($0)" }
  }

  // MARK: Metrics

  private func sample() {
    do { alerts.add(try Self.metrics(observer)) } catch {
      Issue.record("the metrics at \(time): \(error)")
    }
    sampler?.arm(at: clock.now + .seconds(60))
  }

  private static func metrics(_ observer: TestClient) throws -> Metrics {
    // Root is answered at once: no time passes.
    observer.sendOnly(#"{"op":"metrics"}"#)
    return Metrics(try observer.next()["Metrics"]?.text ?? "")
  }
}

/// What is told of a story, apart from its alerts.
struct Telling {
  let text: String
  let alerts: AlertWatch
}

extension String {
  fileprivate var trimmed: String {
    var text = self
    while text.last == " " { text.removeLast() }
    return text
  }
}
