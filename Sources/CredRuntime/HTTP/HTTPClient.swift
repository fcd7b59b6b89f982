public import CredCore
public import Logging

/// Sends requests from the event loop, by libcurl, which is loaded for the first of them.
///
/// Redirects are not followed, so a request never reaches another host than the one it names.
/// TLS is never switched off: there is no setting for it.
public final class HTTPClient {
  private let loop: EventLoop
  private let log: Logger
  private let library: LateLibrary
  private var connections: Int
  private var multi: CurlMulti?

  /// - Parameter connections: how many may be open at once; further requests queue.
  public init(loop: EventLoop, connections: Int, log: Logger) {
    self.loop = loop
    self.log = log
    self.connections = connections
    library = LateLibrary(.curl, loop: loop, log: log)
  }

  /// How many connections may be open at once from now on; further requests queue.
  func limitConnections(to count: Int) {
    connections = count
    multi?.limitConnections(to: count)
  }

  /// Sends a request and waits for the whole reply; always ends within the settings' timeout, which
  /// begins when libcurl is there.
  public func send(
    _ request: HTTPRequest, _ settings: HTTPSettings
  ) async -> Result<HTTPReply, TransportFailure> {
    guard await library.load(), let multi = usableMulti() else { return .failure(.noLibrary) }
    return await multi.send(request, settings)
  }

  private func usableMulti() -> CurlMulti? {
    if let multi { return multi }
    do throws(SystemError) {
      multi = try CurlMulti(loop: loop, connections: connections)
    } catch {
      log.error("libcurl cannot be used", metadata: ["reason": "\(error)"])
    }
    return multi
  }
}
