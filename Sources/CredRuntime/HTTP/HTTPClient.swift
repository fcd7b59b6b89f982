public import CredCore
public import Logging

/// Sends requests from the event loop.
///
/// Redirects are not followed, so a request never reaches another host than the one it names.
/// TLS is never switched off: there is no setting for it.
///
/// libcurl is loaded for the first request, on a thread: a daemon that has nobody to call starts
/// in half the time and takes half the memory. The library is a file like the program itself, so
/// the wait for it has no deadline of its own.
public final class HTTPClient {
  private let loop: EventLoop
  private let log: Logger
  private var connections: Int
  private var multi: CurlMulti?
  private var isLoading = false
  /// Requests that came while libcurl is loaded.
  private var waiting: [CheckedContinuation<Void, Never>] = []

  /// - Parameter connections: how many may be open at once; further requests queue.
  public init(loop: EventLoop, connections: Int, log: Logger) {
    self.loop = loop
    self.log = log
    self.connections = connections
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
    guard let multi = await loadedMulti() else { return .failure(.noLibrary) }
    return await multi.send(request, settings)
  }

  /// Nil where libcurl cannot be loaded. The next request tries again.
  private func loadedMulti() async -> CurlMulti? {
    if let multi { return multi }
    guard !isLoading else {
      await withCheckedContinuation { waiting.append($0) }
      return multi
    }
    isLoading = true
    start(after: await CurlLibrary.load(besides: loop))
    isLoading = false
    for request in waiting { request.resume() }
    waiting = []
    return multi
  }

  private func start(after problem: String?) {
    if let problem {
      return log.error("libcurl cannot be loaded", metadata: ["reason": "\(problem)"])
    }
    do throws(SystemError) {
      multi = try CurlMulti(loop: loop, connections: connections)
    } catch {
      log.error("libcurl cannot be used", metadata: ["reason": "\(error)"])
    }
  }
}
