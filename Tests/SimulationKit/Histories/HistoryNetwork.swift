import CredCore

/// The requests and commands under way: how often each backend is called, and which tokens are on
/// their way.
struct HistoryNetwork {
  /// A request or a command under way.
  struct Flight {
    fileprivate let server: String?
    fileprivate let tokens: [Int]
    fileprivate let process: Int
  }

  /// The calls of a backend that has a rate.
  private struct Backend {
    let rate: Int
    let width: Int
    /// The times of the last calls, in a ring: no second holds more than rate and burst.
    var recent: [Instant]
    var next = 0
    var underWay = 0

    init(_ backend: HistoryConfiguration.Backend) {
      rate = backend.rate
      width = backend.width
      recent = Array(repeating: Instant(nanoseconds: 0), count: rate + max(1, rate / 5))
    }

    /// Counts a call. False if the call exceeds the limit.
    mutating func take(_ now: Instant) -> Bool {
      let oldest = recent[next]
      recent[next] = now
      next = (next + 1) % recent.count
      underWay += 1
      return now - oldest >= .seconds(1) && underWay <= width
    }
  }

  private var backends: [String: Backend] = [:]
  private var tokens: [Int: Instant] = [:]
  private var process = 0

  /// A process begins, which knows nothing of the calls of the former one.
  mutating func begin(_ process: Int) { self = HistoryNetwork(process: process) }

  private init(process: Int) { self.process = process }

  init() {}

  /// A configuration comes into force.
  mutating func configure(_ configuration: HistoryConfiguration) {
    for backend in configuration.backends where backends[backend.server] == nil {
      backends[backend.server] = Backend(backend)
    }
  }

  /// A request to a backend's server begins.
  ///
  /// - Parameter tokens: the numbers of those that one session has.
  /// - Returns: what is wrong with it.
  mutating func begin(
    _ server: String?, tokens numbers: [Int], at now: Instant, givenUp: Instant
  ) -> (Flight, Invariant?) {
    var broken: Invariant?
    if let server, backends[server]?.take(now) == false { broken = .withinRate }
    // A call that was given up may still have its request under way.
    if numbers.contains(where: { tokens[$0].map { $0 > givenUp } ?? false }) {
      broken = .singleFlight
    }
    for number in numbers { tokens[number] = now }
    return (Flight(server: server, tokens: numbers, process: process), broken)
  }

  mutating func end(_ flight: Flight) {
    guard flight.process == process else { return }
    if let server = flight.server { backends[server]?.underWay -= 1 }
    for number in flight.tokens { tokens[number] = nil }
  }
}
