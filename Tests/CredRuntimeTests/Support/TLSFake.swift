/// An HTTPS server of the world outside, in Python. It says in its reply what it knows of the client,
/// and closes each connection after it unless it keeps them.
final class TLSFake: Sendable {
  private let server: PythonServer

  var port: Int { server.port }

  var url: String { "https://localhost:\(port)/" }

  /// - Parameters:
  ///   - certificate: the name of one of the certificates.
  ///   - asksForClient: whether a client certificate is required.
  ///   - version: the highest version it speaks.
  ///   - keepsConnections: whether a connection takes more than one request. The reply then has the
  ///     number of the request, from 1.
  init(
    _ certificates: Certificates, _ certificate: String, asksForClient: Bool = false,
    version: String = "TLSv1_3", keepsConnections: Bool = false
  ) throws {
    server = try PythonServer(
      Self.script,
      [
        certificates.path(certificate), certificates.path("\(certificate)-key"),
        asksForClient ? certificates.path("ca") : "", version,
        keepsConnections ? "keep-alive" : "close",
      ])
  }

  private static let script = """
    import socket, ssl, sys, threading
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = getattr(ssl.TLSVersion, sys.argv[4])
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    if sys.argv[3]:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(sys.argv[3])
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    def serve(client):
        try:
            client = context.wrap_socket(client, server_side=True)
            number = 0
            while client.recv(65536):
                number += 1
                name = client.getpeercert()["subject"][0][0][1] if sys.argv[3] else "nobody"
                text = f"{client.version()} {name} {'again' if client.session_reused else 'new'}"
                if sys.argv[5] != "close":
                    text += f" {number}"
                client.sendall(b"HTTP/1.1 200 OK\\r\\nConnection: %s\\r\\nContent-Length: %d\\r\\n\\r\\n%s"
                               % (sys.argv[5].encode(), len(text), text.encode()))
                if sys.argv[5] == "close":
                    client.unwrap()
                    break
        except OSError:
            pass
        client.close()
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
    """
}
