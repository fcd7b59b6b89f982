import CSandboxHTTP
import SandboxKit

/// The reason why the sandbox cannot serve.
struct ServerError: Error, CustomStringConvertible {
  let description: String
}

/// The texts of a certificate and its key, in PEM.
struct TLSFiles {
  var certificate: String
  var key: String
  /// If set, clients must show a certificate of one of these authorities.
  var clientAuthorities: String?
}

/// A listening socket with its connections, by libmicrohttpd. Only ``run()`` calls its server.
@safe struct HTTPListener: Equatable {
  private let pointer: OpaquePointer

  /// - Parameters:
  ///   - socket: the socket, which belongs to the listener from now on.
  ///   - place: the socket's name in messages.
  ///   - server: the server, which must outlive the listener.
  init(
    _ socket: Int32, _ place: String, tls: TLSFiles?, server: SandboxServer
  ) throws(ServerError) {
    var reason = [CChar](repeating: 0, count: 256)
    let made = unsafe HTTPListener.with(tls) { tls in
      var owner = unsafe HTTPListener.callbacks(of: server)
      var limits = csandbox_limits(
        connections: UInt32(SandboxServer.maximumConnections),
        idle_seconds: UInt32(SandboxServer.idleTimeout), body: SandboxServer.maximumBody)
      return unsafe csandbox_start(socket, &owner, &limits, tls, &reason, reason.count)
    }
    guard let made = unsafe made else {
      let text = reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
      throw ServerError(
        description: "cannot serve on \(place): \(String(decoding: text, as: UTF8.self))")
    }
    unsafe pointer = made
  }

  /// Readable when there is work.
  var descriptor: Int32 { unsafe csandbox_descriptor(pointer) }

  /// Does the pending work.
  ///
  /// - Returns: the milliseconds after which it must run again even if the descriptor is not
  ///   readable; nil: only when it is readable.
  func run() -> Int? {
    let wait = unsafe csandbox_run(pointer)
    return wait < 0 ? nil : Int(wait)
  }

  /// Closes all connections. No call may be held.
  func stop() { unsafe csandbox_stop(pointer) }

  static func == (one: HTTPListener, other: HTTPListener) -> Bool {
    unsafe one.pointer == other.pointer
  }

  private static func callbacks(of server: SandboxServer) -> csandbox_owner {
    unsafe csandbox_owner(
      context: Unmanaged.passUnretained(server).toOpaque(),
      has_room: { unsafe HTTPListener.server($0).hasRoom },
      connection_opened: { unsafe HTTPListener.server($0).connectionOpened() },
      connection_closed: { unsafe HTTPListener.server($0).connectionClosed() },
      received: { context, listener, call in
        unsafe HTTPListener.server(context).received(
          HTTPCall(pointer: call), by: HTTPListener(pointer: listener))
      })
  }

  private static func server(_ context: UnsafeMutableRawPointer) -> SandboxServer {
    unsafe Unmanaged<SandboxServer>.fromOpaque(context).takeUnretainedValue()
  }

  private init(pointer: OpaquePointer) {
    unsafe self.pointer = pointer
  }

  private static func with(
    _ tls: TLSFiles?, _ body: (UnsafePointer<csandbox_tls>?) -> OpaquePointer?
  ) -> OpaquePointer? {
    guard let tls else { return unsafe body(nil) }
    return unsafe tls.certificate.withCString { certificate in
      unsafe tls.key.withCString { key in
        var texts = unsafe csandbox_tls(
          certificate: certificate, key: key, client_authorities: nil)
        guard let authorities = tls.clientAuthorities else { return unsafe body(&texts) }
        return unsafe authorities.withCString { authorities in
          unsafe texts.client_authorities = authorities
          return unsafe body(&texts)
        }
      }
    }
  }
}

/// One request and its reply. It exists until it is answered or reset, or, if held, until it is
/// released.
@safe struct HTTPCall {
  private let pointer: OpaquePointer

  fileprivate init(pointer: OpaquePointer) {
    unsafe self.pointer = pointer
  }

  /// Whether the body was longer than the limit, and was discarded.
  var isTooLong: Bool { unsafe csandbox_is_too_long(pointer) }

  var request: HTTPRequest {
    var headers: [HTTPField] = []
    unsafe withUnsafeMutablePointer(to: &headers) { fields in
      unsafe csandbox_each_field(pointer, fields) { context, name, value in
        let field = unsafe HTTPField(String(cString: name), String(cString: value))
        unsafe context.assumingMemoryBound(to: [HTTPField].self).pointee.append(field)
      }
    }
    var length = 0
    let bytes = unsafe csandbox_body(pointer, &length)
    return HTTPRequest(
      method: unsafe String(cString: csandbox_method(pointer)),
      target: unsafe String(cString: csandbox_target(pointer)), headers: headers,
      body: unsafe Array(UnsafeRawBufferPointer(start: bytes, count: length)))
  }

  /// - Parameter length: how many bytes of the body are sent. If not all are sent, the connection
  ///   is closed after them.
  func reply(_ reply: HTTPReply, length: Int? = nil) {
    let count = reply.body.count
    unsafe csandbox_reply(pointer, UInt32(reply.status), reply.body, count, length ?? count)
    for field in reply.headers { unsafe csandbox_reply_field(pointer, field.name, field.value) }
  }

  /// The client sees a reset (RST) of its connection; at a Unix socket its end.
  func reset() { unsafe csandbox_reset(pointer) }

  /// Keeps the call for later, while other connections go on.
  ///
  /// - Returns: the connection's descriptor.
  func hold() -> Int32 { unsafe csandbox_hold(pointer) }

  /// Continues a held call: sends its reply, or closes the connection if it has none. Its listener
  /// must run.
  func release() { unsafe csandbox_release(pointer) }
}
