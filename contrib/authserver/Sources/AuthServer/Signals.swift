import Dispatch
import Glibc

/// What the system tells the server to do.
struct Signals {
  enum Event: Sendable {
    case stop
    /// Take certificate and key from their files again.
    case reload
  }

  let events: AsyncStream<Event>
  private let sources: [any DispatchSourceSignal]

  /// - Parameter isOn: nothing ever comes without.
  init(isOn: Bool) {
    let (events, continuation) = AsyncStream.makeStream(of: Event.self)
    self.events = events
    // A connection or a log's reader that goes away is an error of the write, and ends no server.
    _ = signal(SIGPIPE, SIG_IGN)
    let all: [(Int32, Event)] = isOn ? [(SIGTERM, .stop), (SIGINT, .stop), (SIGHUP, .reload)] : []
    sources = all.map { number, event in
      _ = signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler { continuation.yield(event) }
      source.resume()
      return source
    }
  }
}
