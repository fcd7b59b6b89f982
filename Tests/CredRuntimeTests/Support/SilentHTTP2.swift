/// A server of HTTP/2 alone, in Python. Each connection answers its first request with the connection's
/// number, and falls silent, as one that a balancer has forgotten.
final class SilentHTTP2: Sendable {
  private let server: PythonServer

  var port: Int { server.port }

  var url: String { "https://localhost:\(port)/" }

  init(_ certificates: Certificates) throws {
    server = try PythonServer(
      Self.script,
      [certificates.path("good"), certificates.path("good-key")])
  }

  /// Frames of RFC 9113. The header block 0x88 is `:status: 200` (RFC 7541, appendix A).
  private static let script = """
    import socket, ssl, sys, threading
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    context.set_alpn_protocols(["h2"])
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    def frame(kind, flags, stream, content):
        return (len(content).to_bytes(3, "big") + bytes([kind, flags])
                + stream.to_bytes(4, "big") + content)
    def serve(client, number):
        try:
            client = context.wrap_socket(client, server_side=True)
            stream = client.makefile("rb")
            stream.read(24)
            client.sendall(frame(4, 0, 0, b""))
            answered = False
            while head := stream.read(9):
                stream.read(int.from_bytes(head[:3], "big"))
                if head[3] == 4 and not head[4] & 1:
                    client.sendall(frame(4, 1, 0, b""))
                elif head[3] == 1 and not answered:
                    answered = True
                    name = int.from_bytes(head[5:9], "big")
                    client.sendall(frame(1, 4, name, bytes([0x88]))
                                   + frame(0, 1, name, str(number).encode()))
        except OSError:
            pass
    number = 0
    while True:
        number += 1
        threading.Thread(target=serve, args=(listener.accept()[0], number), daemon=True).start()
    """
}
