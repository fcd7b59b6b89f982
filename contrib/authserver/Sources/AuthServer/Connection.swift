import AuthCore
import NIOSSL

/// What the server knows of a request's connection: from the socket and from TLS, never from a
/// header.
public struct Connection: Sendable {
  let peer: Peer
  let isTLS: Bool
  /// The name in a client certificate that this server's own TLS has checked; nil where there is
  /// none, or more than one name, or where it is no host's name.
  let certificateName: String?

  init(peer: Peer, isTLS: Bool, certificate: NIOSSLCertificate?) {
    self.peer = peer
    self.isTLS = isTLS
    certificateName = certificate.flatMap(Self.name)
  }

  /// Whether a secret may come this way.
  var isPrivate: Bool { peer.isLocal || isTLS }

  private static func name(_ certificate: NIOSSLCertificate) -> String? {
    let names = certificate._subjectAlternativeNames().compactMap { name in
      name.nameType == .dnsName ? String(decoding: name.contents, as: UTF8.self) : nil
    }
    guard names.count == 1, let name = names.first, (try? Enrolment.checkName(name)) != nil else {
      return nil
    }
    return name
  }
}
