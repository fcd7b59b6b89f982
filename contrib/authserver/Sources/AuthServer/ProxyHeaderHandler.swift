import AuthCore
import Logging
import NIOCore
import Synchronization

/// Reads what a balancer says of a connection, makes the rest of the pipeline for that client, and
/// goes. ``ArrivingBytes`` before it counts the time for the header too.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private let faults: ProxyFaults
  private let setUp: (_ client: IPAddress?) throws -> Void
  private var received = ByteBuffer()

  /// - Parameter setUp: adds the handlers behind this one.
  init(_ faults: ProxyFaults, _ setUp: @escaping (_ client: IPAddress?) throws -> Void) {
    self.faults = faults
    self.setUp = setUp
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    received.writeImmutableBuffer(unwrapInboundIn(data))
    do throws(ProxyHeader.Invalid) {
      let start = Array(received.readableBytesView.prefix(Limits.proxyHeaderBytes))
      guard let header = try ProxyHeader.read(start) else { return }
      received.moveReaderIndex(forwardBy: header.length)
      do { try setUp(header.client) } catch { return context.close(promise: nil) }
      if received.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(received)) }
      context.pipeline.syncOperations.removeHandler(self, promise: nil)
    } catch {
      faults.note(error.reason, context.remoteAddress)
      context.close(promise: nil)
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // Nobody has asked for anything yet.
    if event is ChannelShouldQuiesceEvent { return context.close(promise: nil) }
    if case .inputClosed = event as? ChannelEvent { return context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}

/// Headers that were none, for the log: one line a minute.
final class ProxyFaults: Sendable {
  private let last = Mutex<NIODeadline?>(nil)
  private let log: Logger

  init(_ log: Logger) { self.log = log }

  func note(_ reason: String, _ address: SocketAddress?) {
    let isTime = last.withLock { last in
      let now = NIODeadline.now()
      guard last.map({ now - $0 > .minutes(1) }) ?? true else { return false }
      last = now
      return true
    }
    guard isTime else { return }
    log.warning(
      "a connection from proxy_protocol_from has no header of PROXY protocol version 2",
      metadata: ["reason": "\(reason)", "address": "\(address?.ipAddress ?? "unix")"])
  }
}
