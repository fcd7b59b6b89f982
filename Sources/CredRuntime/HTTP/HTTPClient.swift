internal import CredCore
internal import CredService
internal import Glibc
internal import Logging

/// Sends requests from the event loop by libcurl, which is loaded for the first request.
///
/// Redirects are not followed, so a request reaches only the host that it names. There is no
/// setting to switch off the checks of TLS.
final class HTTPClient: HTTPSending {
  private let loop: EventLoop
  private let clock: any Clock
  private let log: Logger
  private let library: Library
  private var files: TLSFiles?
  private var connections: Int
  private var multi: CurlMulti?
  /// Handles with transfers that began before ``renewConnections()``. No other request uses their
  /// connections.
  private var retired: [CurlMulti] = []
  private var sweep: (any Timer)?
  private let variable: (String) -> String?

  /// - Parameters:
  ///   - connections: how many may be open at once; further requests queue.
  ///   - variable: reads a variable of the environment, which may name a proxy.
  init(
    loop: EventLoop, clock: any Clock, background: any Background, connections: Int, log: Logger,
    variable: @escaping (String) -> String? = HTTPClient.environment
  ) {
    self.loop = loop
    self.clock = clock
    self.log = log
    self.connections = connections
    self.variable = variable
    library = Library(.curl, clock: clock, background: background, log: log)
    files = TLSFiles(clock: clock, background: background) { [unowned self] in
      renewConnections()
    }
    sweep = clock.makeTimer { [unowned self] in
      retired.removeAll { $0.transferCount == 0 }
    }
  }

  private static func environment(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
  }

  /// How many connections may be open at once from now on; further requests queue.
  func limitConnections(to count: Int) {
    connections = count
    shareConnections()
  }

  /// Called for a new configuration: files and the system's authorities may have changed.
  func configurationChanged() {
    files?.forget()
    renewConnections()
  }

  /// Sends a request and takes the whole reply. It always ends within the settings' timeout, which
  /// begins when libcurl is loaded and the files for TLS have been looked at.
  func send(
    _ request: HTTPRequest, _ settings: HTTPSettings,
    completion: @escaping (Result<HTTPReply, TransportFailure>) -> Void
  ) {
    let paths = settings.tlsFiles
    guard !paths.isEmpty, let files else { return sendNow(request, settings, completion) }
    files.look(at: paths[...]) { [unowned self] silent in
      if let silent {
        var failure = TransportFailure.fileOverdue
        // The path is from the configuration, so this is no remote text.
        failure.reason = "\(silent) does not answer"
        return completion(.failure(failure))
      }
      sendNow(request, settings, completion)
    }
  }

  private func sendNow(
    _ request: HTTPRequest, _ settings: HTTPSettings,
    _ completion: @escaping (Result<HTTPReply, TransportFailure>) -> Void
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
      multi = try CurlMulti(
        loop: loop, clock: clock, connections: connections, variable: variable)
      // A balancer or NAT that has forgotten a connection tells nobody. With HTTP/2 all later requests would
      // go over it, with HTTP/1.1 over others that are as old.
      multi?.fellSilent = { [unowned self] in renewConnections() }
      shareConnections()
    } catch {
      log.error("libcurl cannot be used", metadata: ["reason": "\(error)"])
    }
    return multi
  }

  // MARK: Connections of the past

  /// Makes later requests use no authority, TLS session or connection that libcurl has kept.
  /// Requests under way go on.
  private func renewConnections() {
    guard let old = multi else { return }
    multi = nil
    retired.append(old)
    old.fellSilent = nil
    old.transfersEnded = { [unowned self] in retiredTransfersEnded() }
    retiredTransfersEnded()
  }

  private func retiredTransfersEnded() {
    shareConnections()
    // Done later, because this may be called by one of them.
    if retired.contains(where: { $0.transferCount == 0 }) { sweep?.arm(at: clock.now) }
  }

  /// Older requests under way count too. At least one connection is left for new requests.
  private func shareConnections() {
    let taken = retired.reduce(0) { $0 + $1.transferCount }
    multi?.limitConnections(to: max(connections - taken, 1))
  }
}
