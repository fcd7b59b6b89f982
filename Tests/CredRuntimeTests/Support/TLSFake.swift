import Foundation
import Glibc

/// An HTTPS server of the world outside, in Python. It closes each connection after its reply and
/// says in it what it knows of the client.
final class TLSFake: Sendable {
  let port: Int
  private let process: Process

  var url: String { "https://localhost:\(port)/" }

  /// - Parameters:
  ///   - certificate: the name of one of the certificates.
  ///   - asksForClient: whether a client certificate is required.
  ///   - version: the highest version it speaks.
  init(
    _ certificates: Certificates, _ certificate: String, asksForClient: Bool = false,
    version: String = "TLSv1_3"
  ) throws {
    process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = [
      "-W", "ignore", "-c", Self.script, certificates.path(certificate),
      certificates.path("\(certificate)-key"), asksForClient ? certificates.path("ca") : "",
      version,
    ]
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    var line = Data()
    while line.last != UInt8(ascii: "\n"),
      case let next = output.fileHandleForReading.availableData, !next.isEmpty
    {
      line += next
    }
    guard let port = Int(String(decoding: line.dropLast(), as: UTF8.self)) else {
      throw CocoaError(.fileReadUnknown)
    }
    self.port = port
  }

  deinit {
    kill(process.processIdentifier, SIGKILL)
  }

  private static let script = """
    import socket, ssl, sys
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
    while True:
        client, _ = listener.accept()
        try:
            client = context.wrap_socket(client, server_side=True)
            client.recv(65536)
            name = client.getpeercert()["subject"][0][0][1] if sys.argv[3] else "nobody"
            text = f"{client.version()} {name} {'again' if client.session_reused else 'new'}"
            client.sendall(b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n%s"
                           % (len(text), text.encode()))
            client.unwrap()
        except OSError:
            pass
        client.close()
    """
}
