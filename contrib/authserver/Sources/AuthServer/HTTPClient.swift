import AuthCore
import CredCore
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// Calls over HTTP/1.1, on connections that are kept for the next one. The certificates of the system
/// decide whom it believes; it knows no proxy and follows no redirect.
public final class HTTPClient: Sendable {
  /// A server's address.
  struct Origin: Sendable, Hashable {
    let isTLS: Bool
    let host: String
    let port: Int

    init(_ url: HTTPURL) {
      isTLS = url.isEncrypted
      host = url.host
      // An address of IPv6 stands between brackets.
      let end = url.authority.lastIndex(of: "]") ?? url.authority.startIndex
      let colon = url.authority[end...].lastIndex(of: ":")
      port = colon.flatMap { Int(url.authority[$0...].dropFirst()) } ?? (isTLS ? 443 : 80)
    }
  }

  struct Reply: Sendable {
    var status: Int
    var headers: HTTPHeaders
    var body: [UInt8]
  }

  /// Why there is no reply.
  struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  private struct State {
    var idle: [(origin: Origin, channel: any Channel, since: NIODeadline)] = []
    var isClosed = false
  }

  private let state = Mutex(State())
  private let tls: NIOSSLContext
  private let turns: Turns

  /// - Parameter calls: at once; as many may wait.
  public convenience init(calls: Int) throws {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    try self.init(calls: calls, configuration)
  }

  init(calls: Int, _ configuration: TLSConfiguration) throws {
    tls = try NIOSSLContext(configuration: configuration)
    turns = Turns(calls)
  }

  public func close() {
    let idle = state.withLock { state in
      state.isClosed = true
      defer { state.idle = [] }
      return state.idle
    }
    for one in idle { one.channel.close(promise: nil) }
  }

  /// - Parameters:
  ///   - time: for everything, the connection included.
  ///   - limit: of the reply's body, in bytes.
  func send(
    _ method: HTTPMethod, _ path: String, to origin: Origin, headers: HTTPHeaders, body: [UInt8],
    within time: Interval, upTo limit: Int
  ) async throws(Failure) -> Reply {
    let end = NIODeadline.now() + .milliseconds(time.milliseconds)
    guard await turns.take() else { throw Failure("too many calls at once") }
    defer { turns.giveBack() }
    let left = end - .now()
    guard left > .zero else { throw Failure("too many calls at once") }
    let channel: any Channel
    if let kept = takeIdle(origin) {
      channel = kept
    } else {
      channel = try await connect(origin, within: left)
    }
    var head = HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: headers)
    head.headers.add(name: "Content-Length", value: String(body.count))
    let call = HTTPCall(head: head, body: body, limit: limit, end: end)
    do {
      let outcome = try await channel.eventLoop.flatSubmit {
        do {
          return try channel.pipeline.syncOperations.handler(type: HTTPCallHandler.self).start(call)
        } catch { return channel.eventLoop.makeFailedFuture(error) }
      }.get()
      if outcome.isReusable { keep(channel, origin) } else { channel.close(promise: nil) }
      return outcome.reply
    } catch {
      channel.close(promise: nil)
      throw error as? Failure ?? Failure("\(error)")
    }
  }

  private func connect(
    _ origin: Origin, within time: TimeAmount
  ) async throws(Failure) -> any Channel {
    do {
      return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connectTimeout(min(time, .milliseconds(AuthCore.Limits.connectTime.milliseconds)))
        .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        .channelInitializer { [tls] channel in
          channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            if origin.isTLS {
              try pipeline.addHandler(
                NIOSSLClientHandler(context: tls, serverHostname: origin.name))
            }
            try pipeline.addHTTPClientHandlers()
            try pipeline.addHandler(HTTPCallHandler())
          }
        }.connect(host: origin.host, port: origin.port).get()
    } catch {
      throw Failure("no connection: \(error)")
    }
  }

  private func takeIdle(_ origin: Origin) -> (any Channel)? {
    let oldest = NIODeadline.now() - .milliseconds(AuthCore.Limits.keptConnectionTime.milliseconds)
    var stale: [any Channel] = []
    let channel = state.withLock { state in
      while let index = state.idle.lastIndex(where: { $0.origin == origin }) {
        let one = state.idle.remove(at: index)
        if one.channel.isActive, one.since > oldest { return Optional(one.channel) }
        stale.append(one.channel)
      }
      return nil
    }
    for channel in stale { channel.close(promise: nil) }
    return channel
  }

  private func keep(_ channel: any Channel, _ origin: Origin) {
    let isKept = state.withLock { state in
      guard !state.isClosed, state.idle.count < AuthCore.Limits.keptConnections else {
        return false
      }
      state.idle.append((origin, channel, .now()))
      return true
    }
    if !isKept { channel.close(promise: nil) }
  }
}

extension HTTPClient {
  /// One request of credd's form.
  func send(
    _ request: CredCore.HTTPRequest, within time: Interval, upTo limit: Int
  ) async throws(Failure) -> Reply {
    guard let url = try? HTTPURL(request.url) else {
      throw Failure("it is no address of a server")
    }
    var headers: HTTPHeaders = ["Host": url.authority]
    for header in request.headers {
      headers.add(name: header.name, value: String(decoding: header.value.bytes, as: UTF8.self))
    }
    return try await send(
      .POST, url.path, to: Origin(url), headers: headers, body: request.body.bytes, within: time,
      upTo: limit)
  }
}

extension HTTPClient.Origin {
  /// What the certificate must name; nil for an IP address, which TLS compares itself.
  fileprivate var name: String? {
    (try? SocketAddress(ipAddress: host, port: port)) == nil ? host : nil
  }
}

/// So many at once; as many more wait.
private final class Turns: Sendable {
  private struct State {
    var free: Int
    var waiting: [CheckedContinuation<Bool, Never>] = []
  }

  private let state: Mutex<State>
  private let longest: Int

  init(_ count: Int) {
    state = Mutex(State(free: count))
    longest = count
  }

  /// False where too many wait.
  func take() async -> Bool {
    await withCheckedContinuation { turn in
      let isMine: Bool? = state.withLock { state in
        if state.free > 0 {
          state.free -= 1
          return true
        }
        guard state.waiting.count < longest else { return false }
        state.waiting.append(turn)
        return nil
      }
      if let isMine { turn.resume(returning: isMine) }
    }
  }

  func giveBack() {
    let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.free += 1
      return nil
    }
    next?.resume(returning: true)
  }
}
