import CSandboxHTTP
import FoundationEssentials
import Glibc
import SandboxKit

/// Serves one sandbox on loopback: TCP, TLS and a Unix socket.
///
/// Only one thread serves, so no lock is needed. If a call is answered later, it is held while
/// other connections continue.
final class SandboxServer {
  /// Further connections are closed at once.
  static let maximumConnections = 2048
  static let maximumBody = 1 << 20
  /// Seconds after which a quiet connection is closed.
  static let idleTimeout = 300

  private struct Service {
    let listener: HTTPListener
    /// Whether it is the user pools' replica.
    let isReplica: Bool
    /// When the listener has work even without an event of a connection.
    var nextRun: ContinuousClock.Instant?
  }

  /// A call that is answered later, or never.
  private struct HeldCall {
    let call: HTTPCall
    let answer: Answer
    /// The connection's descriptor, watched for a disconnect.
    let descriptor: Int32
    let service: Int
  }

  /// The poller names a service by its number, and a held call by a number above this.
  private static let firstCallToken: UInt64 = 16
  private static let signalToken = UInt64.max

  private var sandbox: Sandbox
  private var connections = 0
  private var services: [Service] = []
  private var held: [UInt64: HeldCall] = [:]
  private var lastToken = firstCallToken
  /// Delayed answers, the latest first. An answer stays until its time even if its client
  /// disconnects.
  private var delays: [(end: ContinuousClock.Instant, token: UInt64)] = []
  private let poller: Int32

  /// - Parameter stopSignals: blocked signals; the first one ends ``serve()``.
  init(_ sandbox: Sandbox, stopSignals: sigset_t) throws(ServerError) {
    self.sandbox = sandbox
    var stopSignals = stopSignals
    poller = try SandboxServer.checked(csandbox_poller(), "epoll")
    let signals = try SandboxServer.checked(unsafe csandbox_signals(&stopSignals), "signalfd")
    try watch(signals, as: SandboxServer.signalToken)
  }

  /// - Parameters:
  ///   - port: the port; 0 to take any.
  ///   - isReplica: whether it is the user pools' replica in another region.
  /// - Returns: the port that was taken.
  func listen(
    port: Int, tls: TLSFiles? = nil, isReplica: Bool = false
  ) throws(ServerError) -> Int {
    var taken = UInt16(port)
    let place = "127.0.0.1:\(port)"
    let socket = try SandboxServer.checked(unsafe csandbox_listen_tcp(&taken), place)
    try add(HTTPListener(socket, place, tls: tls, server: self), isReplica: isReplica)
    return Int(taken)
  }

  func listen(unixSocket path: String) throws(ServerError) {
    let socket = try SandboxServer.checked(unsafe csandbox_listen_unix(path), path)
    try add(HTTPListener(socket, path, tls: nil, server: self))
  }

  private func add(_ listener: HTTPListener, isReplica: Bool = false) throws(ServerError) {
    try watch(listener.descriptor, as: UInt64(services.count))
    services.append(Service(listener: listener, isReplica: isReplica, nextRun: .now))
  }

  /// Serves until a stop signal comes.
  func serve() throws(ServerError) {
    var tokens = [UInt64](repeating: 0, count: 256)
    while true {
      let count = try SandboxServer.checked(
        unsafe csandbox_wait(poller, waitingTime, &tokens, Int32(tokens.count)), "epoll")
      let now = ContinuousClock.now
      for token in tokens.prefix(Int(count)) {
        if token == SandboxServer.signalToken { return stop() }
        if token < SandboxServer.firstCallToken {
          services[Int(token)].nextRun = now
        } else {
          release(token, at: now)
        }
      }
      answerDelayed(at: now)
      for index in services.indices where services[index].nextRun.map({ $0 <= now }) ?? false {
        let wait = services[index].listener.run()
        services[index].nextRun = wait.map { now + .milliseconds($0) }
      }
    }
  }

  private func stop() {
    for token in Array(held.keys) { release(token, at: .now) }
    for service in services { service.listener.stop() }
    services = []
  }

  /// Milliseconds until the next work is due, rounded up; -1 if none is.
  private var waitingTime: Int32 {
    var first = delays.last?.end
    for service in services {
      if let time = service.nextRun { first = min(first ?? time, time) }
    }
    guard let first else { return -1 }
    let wait = max(ContinuousClock.now.duration(to: first), .zero)
    return Int32(clamping: Int((wait / .milliseconds(1)).rounded(.up)))
  }

  private func watch(_ descriptor: Int32, as token: UInt64) throws(ServerError) {
    try SandboxServer.checked(csandbox_watch(poller, descriptor, true, token), "epoll")
  }

  @discardableResult
  private static func checked(_ result: Int32, _ what: String) throws(ServerError) -> Int32 {
    guard result < 0 else { return result }
    throw ServerError(description: "\(what): \(unsafe String(cString: strerror(-result)))")
  }
}

/// The reports of a listener.
extension SandboxServer {
  var hasRoom: Bool { connections < SandboxServer.maximumConnections }

  func connectionOpened() {
    connections += 1
    sandbox.connectionOpened()
  }

  func connectionClosed() {
    connections -= 1
    sandbox.connectionClosed()
  }

  func received(_ call: HTTPCall, by listener: HTTPListener) {
    guard !call.isTooLong else { return SandboxServer.refuse(call) }
    var request = call.request
    request.isAtReplica = services.contains { $0.listener == listener && $0.isReplica }
    let answer = sandbox.answer(request, at: Date())
    guard answer.delay > 0 || answer.delivery == .never else {
      SandboxServer.send(answer, to: call)
      return sandbox.ended(answer)
    }
    hold(call, answer, listener)
  }
}

/// Calls that are answered later.
extension SandboxServer {
  private func hold(_ call: HTTPCall, _ answer: Answer, _ listener: HTTPListener) {
    guard let service = services.firstIndex(where: { $0.listener == listener }) else { return }
    lastToken += 1
    let descriptor = call.hold()
    held[lastToken] = HeldCall(
      call: call, answer: answer, descriptor: descriptor, service: service)
    // A call that cannot be watched is still held.
    _ = csandbox_watch(poller, descriptor, false, lastToken)
    guard answer.delivery != .never else { return }
    let end = ContinuousClock.now + .seconds(answer.delay)
    let index = delays.firstIndex { $0.end <= end } ?? delays.count
    delays.insert((end, lastToken), at: index)
  }

  private func answerDelayed(at now: ContinuousClock.Instant) {
    while let delay = delays.last, delay.end <= now {
      delays.removeLast()
      guard let call = held[delay.token] else { continue }
      SandboxServer.send(call.answer, to: call.call)
      release(delay.token, at: now)
    }
  }

  /// Releases a held call, with its reply or because its client disconnected.
  private func release(_ token: UInt64, at now: ContinuousClock.Instant) {
    guard let call = held.removeValue(forKey: token) else { return }
    sandbox.ended(call.answer)
    csandbox_unwatch(poller, call.descriptor)
    call.call.release()
    services[call.service].nextRun = now
  }
}

/// Replies.
extension SandboxServer {
  private static func send(_ answer: Answer, to call: HTTPCall) {
    var reply = answer.reply
    reply.headers.append(HTTPField("Date", answer.date.httpText))
    switch answer.delivery {
    case .never: return
    case .reset: call.reset()
    case .truncated:
      reply.headers.append(HTTPField("Connection", "close"))
      call.reply(reply, length: reply.body.count / 2)
    case .whole: call.reply(reply)
    }
  }

  private static func refuse(_ call: HTTPCall) {
    let message = "body is longer than \(maximumBody) bytes"
    var reply = HTTPReply(
      status: 413, json: ["Code": "RequestTooLarge", "Message": .string(message)])
    reply.headers += [HTTPField("Date", Date().httpText), HTTPField("Connection", "close")]
    call.reply(reply)
  }
}
