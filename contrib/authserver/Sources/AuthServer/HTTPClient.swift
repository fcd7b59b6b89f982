import AuthCore
import CCurl
import CredCore
import CredTransfer
import NIOPosix
import Synchronization

/// Calls over HTTP/1.1 by libcurl, on one thread. The first client loads libcurl. Connections are kept for
/// the next call. The certificates of the system decide which servers are trusted. No redirect is
/// followed. The environment may name a proxy.
@safe public final class HTTPClient: Sendable {
  /// Why there is no reply.
  struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }

    static let setUp = Self("libcurl cannot be set up")
    static let stops = Self("the server stops")
    static let tooMany = Self("too many calls at once")
  }

  private struct Call: Sendable {
    let request: CredCore.HTTPRequest
    let settings: HTTPSettings
    let end: ContinuousClock.Instant
    let done: CheckedContinuation<Result<HTTPReply, Failure>, Never>

    func fail(_ failure: Failure) { done.resume(returning: .failure(failure)) }
  }

  private struct State {
    /// Calls that the thread has not begun.
    var waiting: [Call] = []
    var underWay = 0
    var isClosed = false
  }

  private let state = Mutex(State())
  private let limit: Int
  private let environment: [String: String]
  private let caFile: String?
  private let thread = NIOThreadPool(numberOfThreads: 1)
  private nonisolated(unsafe) let multi: UnsafeMutableRawPointer
  private nonisolated(unsafe) let tlsSessions: UnsafeMutableRawPointer

  /// - Parameters:
  ///   - calls: at once; as many may wait.
  ///   - environment: may name a proxy.
  ///   - caFile: authorities in place of the system's.
  public init(
    calls: Int, environment: [String: String], caFile: String? = nil
  ) throws(ServerFailure) {
    var reason = [CChar](repeating: 0, count: 256)
    guard unsafe credd_curl_load(&reason, reason.count) == 0 else {
      let text = reason.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
      throw ServerFailure(
        "libcurl cannot be loaded: \(String(decoding: text, as: UTF8.self)): reinstall its package")
    }
    guard let multi = unsafe credd_curl_multi(), let share = unsafe credd_curl_share_tls_sessions()
    else { throw ServerFailure("libcurl cannot be set up") }
    unsafe (self.multi, tlsSessions) = (multi, share)
    (limit, self.environment, self.caFile) = (calls, environment, caFile)
    unsafe credd_curl_multi_set_long(
      multi, CURLMOPT_MAXCONNECTS, AuthCore.Limits.keptConnections)
    thread.start()
    thread.submit { [self] _ in run() }
  }

  /// Ends the calls under way.
  public func close() {
    state.withLock { state in
      guard !state.isClosed else { return }
      state.isClosed = true
      unsafe credd_curl_multi_wake(multi)
    }
    thread.shutdownGracefully { _ in }
  }

  /// - Parameters:
  ///   - time: for everything, the connection included.
  ///   - limit: of the reply's body, in bytes.
  ///   - isSentOnce: nobody must send it again, even where a kept connection has ended.
  func send(
    _ request: CredCore.HTTPRequest, within time: Interval, upTo limit: Int,
    isSentOnce: Bool = false
  ) async throws(Failure) -> HTTPReply {
    let time = Duration.milliseconds(time.milliseconds)
    var settings = HTTPSettings(timeout: time, replyLimit: limit)
    settings.caFile = caFile
    settings.isSentOnce = isSentOnce
    let end = ContinuousClock.now + time
    return try await withCheckedContinuation { [settings] done in
      add(Call(request: request, settings: settings, end: end, done: done))
    }.get()
  }

  private func add(_ call: Call) {
    let failure: Failure? = state.withLock { state in
      guard !state.isClosed else { return .stops }
      guard state.waiting.count + state.underWay < 2 * limit else { return .tooMany }
      state.waiting.append(call)
      unsafe credd_curl_multi_wake(multi)
      return nil
    }
    if let failure { call.fail(failure) }
  }

  // MARK: On the thread

  /// libcurl opens the socket of a name's next address only when it is called again, so it is called at
  /// these intervals while there are transfers.
  private static let interval: Int32 = 250

  private func run() {
    var transfers: [UnsafeMutableRawPointer: HTTPTransfer] = unsafe [:]
    while let calls = nextCalls() {
      for call in calls {
        guard let transfer = begin(call) else { continue }
        unsafe transfers[transfer.handle] = transfer
      }
      unsafe credd_curl_multi_perform(multi)
      var result = CURLE_OK
      // Calls that wait may begin in the place of calls that failed at once or have ended.
      var mayHaveRoom = !calls.isEmpty
      while let handle = unsafe credd_curl_multi_done(multi, &result) {
        unsafe end(transfers.removeValue(forKey: handle), result)
        mayHaveRoom = true
      }
      let wait = unsafe mayHaveRoom ? 0 : transfers.isEmpty ? Int32.max : Self.interval
      unsafe credd_curl_multi_wait(multi, wait)
    }
    unsafe transfers.values.forEach { end($0, CURLE_ABORTED_BY_CALLBACK) }
    for call in state.withLock({ $0.waiting }) { call.fail(.stops) }
    unsafe credd_curl_multi_end(multi)
    unsafe credd_curl_share_end(tlsSessions)
  }

  /// The calls that may begin now; nil once the client is closed.
  private func nextCalls() -> [Call]? {
    state.withLock { state in
      guard !state.isClosed else { return nil }
      let next = state.waiting.prefix(limit - state.underWay)
      state.waiting.removeFirst(next.count)
      state.underWay += next.count
      return Array(next)
    }
  }

  /// Nil where it failed at once.
  private func begin(_ call: Call) -> HTTPTransfer? {
    var settings = call.settings
    settings.timeout = call.end - .now
    guard settings.timeout > .zero else { return failed(call, .tooMany) }
    do throws(InvalidInput) {
      let proxy = try Proxy.chosen(for: call.request, settings) { environment[$0] }
      guard let handle = unsafe credd_curl_easy() else { return failed(call, .setUp) }
      let transfer = unsafe HTTPTransfer(handle, limit: settings.replyLimit, proxy: proxy) {
        call.done.resume(returning: $0.mapError(Failure.init))
      }
      let result = prepare(transfer, call.request, settings)
      guard result == CURLE_OK, unsafe credd_curl_multi_add(multi, handle) == CURLM_OK else {
        end(transfer, result == CURLE_OK ? CURLE_FAILED_INIT : result)
        return nil
      }
      return transfer
    } catch {
      return failed(call, Failure(TransportFailure(unreadable: error)))
    }
  }

  private func failed(_ call: Call, _ failure: Failure) -> HTTPTransfer? {
    state.withLock { $0.underWay -= 1 }
    call.fail(failure)
    return nil
  }

  private func prepare(
    _ transfer: HTTPTransfer, _ request: CredCore.HTTPRequest, _ settings: HTTPSettings
  ) -> CURLcode {
    let handle = unsafe transfer.handle
    var results = [transfer.prepare(request, settings)]
    for (option, value) in [
      // In HTTP/2, other calls would share the connection of a call that gets no answer.
      (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)),
      (CURLOPT_CONNECTTIMEOUT_MS, Int(AuthCore.Limits.connectTime.milliseconds)),
      (CURLOPT_MAXAGE_CONN, Int(AuthCore.Limits.keptConnectionTime.milliseconds / 1000)),
    ] {
      results.append(unsafe credd_curl_set_long(handle, option, value))
    }
    results.append(
      unsafe credd_curl_set_text(
        handle, CURLOPT_USERAGENT, "credd-authserver/\(Version.current)"))
    results.append(
      unsafe credd_curl_set_pointer(handle, CURLOPT_SHARE, UnsafeRawPointer(tlsSessions)))
    return results.first { $0 != CURLE_OK } ?? CURLE_OK
  }

  private func end(_ transfer: HTTPTransfer?, _ result: CURLcode) {
    guard let transfer else { return }
    unsafe credd_curl_multi_remove(multi, transfer.handle)
    let report = transfer.finish(result)
    unsafe credd_curl_easy_end(transfer.handle)
    state.withLock { $0.underWay -= 1 }
    report()
  }
}
