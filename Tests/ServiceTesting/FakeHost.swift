import CredCore
import CredService
import Logging
import SeededRandom
import Synchronization

/// Everything that a service knows of the world, in virtual time and without threads: the real
/// ``UpstreamClient`` on HTTP, commands and a crypto library that a test answers.
final class FakeHost {
  static let overflowUID: UInt32 = 65534

  let clock = VirtualClock()
  let trace = Trace()
  let log = LogBook()
  let queries = FakeQueries()
  let crypto = FakeCrypto()
  let background: FakeBackground
  let http: FakeHTTP
  let commands: FakeCommands
  let store: MemoryStore
  let upstreams: FakeUpstreams

  init() {
    background = FakeBackground(clock)
    http = FakeHTTP(clock, trace)
    commands = FakeCommands(clock)
    store = MemoryStore(trace)
    upstreams = FakeUpstreams(clock)
    http.answer = { [unowned upstreams] in upstreams.answer($0) }
  }

  func makeUpstreamClient(_ settings: DaemonSettings) -> UpstreamClient {
    UpstreamClient(
      UpstreamServices(
        clock: clock, background: background, queries: queries, http: http, commands: commands,
        crypto: crypto, hostName: "host.example", log: log.logger),
      settings: settings, random: SeededGenerator(seed: 2))
  }

  func host(_ upstream: any UpstreamPerforming) -> Host {
    Host(
      clock: clock, background: background, queries: queries, upstream: upstream, store: store,
      random: SeededGenerator(seed: 1),
      process: ProcessFacts(pid: 7, overflowUID: Self.overflowUID), log: log.logger)
  }

  func advance(by duration: Duration) { clock.advance(by: duration) }

  /// Everything that is due now is done.
  func settle() { clock.settle() }
}

/// What happened at the seams, in order.
final class Trace {
  private(set) var lines: [String] = []

  func add(_ line: String) { lines.append(line) }

  func clear() { lines = [] }
}

/// What was logged.
final class LogBook: Sendable {
  struct Entry: Sendable {
    let level: Logger.Level
    let message: String
    let metadata: Logger.Metadata

    subscript(key: String) -> String? { metadata[key].map { "\($0)" } }
  }

  private let kept = Mutex<[Entry]>([])

  var entries: [Entry] { kept.withLock(\.self) }

  var messages: [String] { entries.map(\.message) }

  var logger: Logger { Logger(label: "test") { _ in Handler(book: self) } }

  private struct Handler: LogHandler {
    let book: LogBook
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let all = metadata.merging(event.metadata ?? [:]) { $1 }
      book.kept.withLock {
        $0.append(Entry(level: event.level, message: event.message.description, metadata: all))
      }
    }
  }
}
