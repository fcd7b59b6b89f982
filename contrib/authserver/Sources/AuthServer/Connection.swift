import AuthCore
import AuthStore
import NIOSSL

/// What the server knows of a request's connection: from the socket and from TLS, never from a
/// header.
public struct Connection: Sendable {
  let peer: Peer
  let isTLS: Bool
  /// The client certificate that this server's own TLS has checked; nil where there is none, or it has
  /// more than one name, or none of a host.
  let certificate: ClientCertificate?

  init(peer: Peer, isTLS: Bool, certificate: NIOSSLCertificate?) {
    self.peer = peer
    self.isTLS = isTLS
    self.certificate = certificate.flatMap(ClientCertificate.init)
  }

  /// Whether a secret may come this way.
  var isPrivate: Bool { peer.isLocal || isTLS }
}

extension ClientCertificate {
  fileprivate init?(_ certificate: NIOSSLCertificate) {
    let names = certificate._subjectAlternativeNames().compactMap { name in
      name.nameType == .dnsName ? String(decoding: name.contents, as: UTF8.self) : nil
    }
    guard names.count == 1, let name = names.first, (try? Enrolment.checkName(name)) != nil,
      let bytes = try? certificate.toDERBytes()
    else { return nil }
    self.init(
      name: name,
      notBefore: Timestamp(milliseconds: Int64(certificate.notValidBefore) * 1000),
      serial: Hex.encode(certificate.serialNumber), fingerprint: Hex.encode(Digest.sha256(bytes)))
  }
}
