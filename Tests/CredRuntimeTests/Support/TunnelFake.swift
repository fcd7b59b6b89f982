/// A proxy, in Python, with `elsewhere.example` at the end of its tunnels. A tunnel answers its first request;
/// at the second it falls silent, or closes in the middle of the answer.
final class TunnelFake: Sendable {
  private let server: PythonServer

  var port: Int { server.port }

  init(_ certificates: Certificates, isSilent: Bool) throws {
    server = try PythonServer(
      Self.script,
      [certificates.path("wrong"), certificates.path("wrong-key"), isSilent ? "silent" : "cut"])
  }

  private static let script = """
    import socket, ssl, sys, threading
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    def serve(client):
        try:
            client.recv(65536)
            client.sendall(b"HTTP/1.1 200 OK\\r\\n\\r\\n")
            client = context.wrap_socket(client, server_side=True)
            client.recv(65536)
            client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nfirst")
            client.recv(65536)
            if sys.argv[3] == "silent":
                client.recv(65536)
            else:
                client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 10\\r\\n\\r\\nshort")
        except OSError:
            pass
        client.close()
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
    """
}
