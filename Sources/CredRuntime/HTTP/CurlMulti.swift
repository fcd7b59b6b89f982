internal import CCurl
internal import CLinux
internal import CSystemd
internal import CredCore
internal import CredService
internal import CredTransfer
internal import Glibc

/// libcurl's multi interface on the event loop. Connections and TLS sessions are reused, and
/// nothing blocks. Only libcurl's own resolver makes threads, while it resolves.
///
/// libcurl must be loaded before the first object is made (``Library``).
@safe final class CurlMulti {
  private let loop: EventLoop
  private let variable: (String) -> String?
  private let multi: UnsafeMutableRawPointer
  private let tlsSessions: UnsafeMutableRawPointer
  private var timer: EventSource?
  private var sockets: [Int32: EventSource] = [:]
  /// Transfers that could not begin; they fail in the next iteration.
  private var failed: [() -> Void] = []
  private var failureTimer: EventSource?
  /// Transfers under way and what ends them, by their easy handle.
  private var transfers:
    [UnsafeMutableRawPointer: (transfer: HTTPTransfer, deadline: EventSource?)] = unsafe [:]
  private var tick: ConnectTick?
  /// Called after transfers have ended.
  var transfersEnded: (() -> Void)?
  /// Called when a request was sent and no whole answer came in time.
  var fellSilent: (() -> Void)?

  /// Transfers under way, including transfers that queue for a connection.
  var transferCount: Int { unsafe transfers.count + failed.count }

  /// - Parameters:
  ///   - connections: how many may be open at once; further requests queue.
  ///   - variable: reads a variable of the environment.
  init(
    loop: EventLoop, clock: any Clock, connections: Int, variable: @escaping (String) -> String?
  ) throws(SystemError) {
    guard let multi = unsafe credd_curl_multi(), let share = unsafe credd_curl_share_tls_sessions()
    else { throw SystemError("set up libcurl", number: ENOMEM) }
    self.loop = loop
    self.variable = variable
    unsafe self.multi = multi
    unsafe self.tlsSessions = share
    timer = try loop.timer { [unowned self] _ in
      self.act(on: CURL_SOCKET_TIMEOUT, 0)
    }
    failureTimer = try loop.timer { [unowned self] _ in
      let due = failed
      failed = []
      for report in due { report() }
      transfersEnded?()
    }
    tick = ConnectTick(clock) { [unowned self] in actOnAll() }
    setCallbacks()
    limitConnections(to: connections)
  }

  private func setCallbacks() {
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe credd_curl_multi_set_sockets(
      multi,
      { _, socket, what, context, _ in
        unsafe CurlMulti.from(context)?.watch(socket, what)
        return 0
      }, context)
    unsafe credd_curl_multi_set_timer(
      multi,
      { _, milliseconds, context in
        unsafe CurlMulti.from(context)?.arm(milliseconds)
        return 0
      }, context)
  }

  /// How many connections may be open at once from now on; further requests queue.
  func limitConnections(to count: Int) {
    unsafe credd_curl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, count)
  }

  deinit {
    unsafe credd_curl_multi_set_sockets(multi, nil, nil)
    unsafe credd_curl_multi_set_timer(multi, nil, nil)
    sockets = [:]
    timer = nil
    tick = nil
    unsafe transfers.keys.forEach { handle in
      unsafe credd_curl_multi_remove(multi, handle)
      unsafe credd_curl_easy_end(handle)
    }
    unsafe credd_curl_multi_end(multi)
    unsafe credd_curl_share_end(tlsSessions)
  }

  /// Sends a request and takes the whole reply. It always ends within the settings' timeout.
  func send(
    _ request: HTTPRequest, _ settings: HTTPSettings,
    _ completion: @escaping (Result<HTTPReply, TransportFailure>) -> Void
  ) {
    do throws(InvalidInput) {
      let proxy = try Proxy.chosen(for: request, settings, variable: variable)
      send(request, settings, proxy, completion)
    } catch {
      failLater { completion(.failure(TransportFailure(unreadable: error))) }
    }
  }

  private func send(
    _ request: HTTPRequest, _ settings: HTTPSettings, _ proxy: Proxy?,
    _ completion: @escaping (Result<HTTPReply, TransportFailure>) -> Void
  ) {
    // A new handle each time, because a kept one would keep the last reply in its buffer.
    // Connections, TLS sessions and names live in `multi` and `tlsSessions`.
    guard let handle = unsafe credd_curl_easy() else {
      return failLater { completion(.failure(.connect)) }
    }
    let transfer = unsafe HTTPTransfer(
      handle, limit: settings.replyLimit, proxy: proxy, done: completion)
    unsafe transfers[handle] = (transfer, nil)
    transfer.connects = { [unowned self, unowned transfer] isConnecting in
      tick?.note(transfer, isConnecting: isConnecting)
    }
    unsafe credd_curl_set_pointer(handle, CURLOPT_SHARE, UnsafeRawPointer(tlsSessions))
    let result = transfer.prepare(request, settings)
    guard result == CURLE_OK, unsafe credd_curl_multi_add(multi, handle) == CURLM_OK else {
      let failure = result == CURLE_OK ? CURLE_FAILED_INIT : result
      return failLater { [unowned self] in unsafe finish(handle, failure) }
    }
    // libcurl's own timeout does not run while a transfer queues for a connection.
    let deadline = try? loop.timer { [unowned self] _ in
      unsafe self.finish(handle, CURLE_OPERATION_TIMEDOUT)
    }
    deadline?.arm(at: loop.now + settings.timeout)
    unsafe transfers[handle]?.deadline = deadline
  }

  private func failLater(_ report: @escaping () -> Void) {
    failed.append(report)
    failureTimer?.arm(at: loop.now)
  }

  // MARK: libcurl asks

  private static func from(_ context: UnsafeMutableRawPointer?) -> CurlMulti? {
    guard let context = unsafe context else { return nil }
    return unsafe Unmanaged<CurlMulti>.fromOpaque(context).takeUnretainedValue()
  }

  private func arm(_ milliseconds: Int) {
    timer?.arm(at: milliseconds < 0 ? nil : loop.now + .milliseconds(milliseconds))
  }

  private func watch(_ socket: Int32, _ what: Int32) {
    guard what != CURL_POLL_REMOVE else {
      sockets.removeValue(forKey: socket)?.remove()
      return
    }
    var events: UInt32 = 0
    if what & CURL_POLL_IN != 0 { events |= CREDD_EPOLL_IN }
    if what & CURL_POLL_OUT != 0 { events |= CREDD_EPOLL_OUT }
    if let known = sockets[socket], known.setEvents(events) { return }
    // Removes the old source first. Later, that would take the descriptor of the new source out of
    // epoll.
    sockets.removeValue(forKey: socket)?.remove()
    sockets[socket] = try? loop.watch(socket, for: events) { [unowned self] ready in
      var action: Int32 = 0
      if ready & CREDD_EPOLL_IN != 0 { action |= CURL_CSELECT_IN }
      if ready & CREDD_EPOLL_OUT != 0 { action |= CURL_CSELECT_OUT }
      if ready & CREDD_EPOLL_ERR != 0 { action |= CURL_CSELECT_ERR }
      self.act(on: socket, action)
    }
  }

  private func act(on socket: Int32, _ action: Int32) {
    unsafe credd_curl_multi_act(multi, socket, action)
    finishDone()
  }

  private func actOnAll() {
    unsafe credd_curl_multi_act_on_all(multi)
    finishDone()
  }

  private func finishDone() {
    var result = CURLE_OK
    while let handle = unsafe credd_curl_multi_done(multi, &result) {
      unsafe finish(handle, result)
    }
  }

  private func finish(_ handle: UnsafeMutableRawPointer, _ result: CURLcode) {
    guard let transfer = unsafe transfers.removeValue(forKey: handle)?.transfer else { return }
    tick?.note(transfer, isConnecting: false)
    unsafe credd_curl_multi_remove(multi, handle)
    if result == CURLE_OPERATION_TIMEDOUT, transfer.wasSent { fellSilent?() }
    let report = transfer.finish(result)
    unsafe credd_curl_easy_end(handle)
    transfersEnded?()
    // This comes last, because the completion may begin another transfer.
    report()
  }
}
