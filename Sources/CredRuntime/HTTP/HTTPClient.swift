internal import CredCore
internal import CredService
internal import Logging

/// Sends requests from the event loop by libcurl, which is loaded for the first request.
///
/// Redirects are not followed, so a request reaches only the host that it names. TLS is never
/// switched off: there is no setting for it.
final class HTTPClient: HTTPSending {
  private let loop: EventLoop
  private let clock: any Clock
  private let log: Logger
  private let library: Library
  private var connections: Int
  private var multi: CurlMulti?

  /// - Parameter connections: how many may be open at once; further requests queue.
  init(
    loop: EventLoop, clock: any Clock, background: any Background, connections: Int, log: Logger
  ) {
    self.loop = loop
    self.clock = clock
    self.log = log
    self.connections = connections
    library = Library(.curl, clock: clock, background: background, log: log)
  }

  /// How many connections may be open at once from now on; further requests queue.
  func limitConnections(to count: Int) {
    connections = count
    multi?.limitConnections(to: count)
  }

  /// Sends a request and takes the whole reply; always ends within the settings' timeout, which
  /// begins when libcurl is there.
  func send(
    _ request: HTTPRequest, _ settings: HTTPSettings,
    completion: @escaping (Result<HTTPReply, TransportFailure>) -> Void
  ) {
    if let multi { return multi.send(request, settings, completion) }
    library.load { [unowned self] isLoaded in
      guard isLoaded, let multi = usableMulti() else { return completion(.failure(.noLibrary)) }
      multi.send(request, settings, completion)
    }
  }

  private func usableMulti() -> CurlMulti? {
    if let multi { return multi }
    do throws(SystemError) {
      multi = try CurlMulti(loop: loop, clock: clock, connections: connections)
    } catch {
      log.error("libcurl cannot be used", metadata: ["reason": "\(error)"])
    }
    return multi
  }
}
