import AuthCore
import Logging
import NIOCore
import NIOSSL

/// What the server knows of a request's connection: from the socket and from TLS, never from a
/// header.
public struct Connection: Sendable {
  let peer: Peer
  let logger: Logger
  private let channel: any Channel

  init(_ channel: any Channel, peer: Peer, logger: Logger) {
    self.channel = channel
    self.peer = peer
    self.logger = logger
  }

  public var isTLS: Bool { get async { await tls() != nil } }

  /// Whether a secret may come this way.
  public var isPrivate: Bool {
    get async {
      if peer.isLocal { return true }
      return await isTLS
    }
  }

  private func tls() async -> NIOSSLServerHandlerBox? {
    try? await channel.eventLoop.submit { [channel] in
      _ = try channel.pipeline.syncOperations.handler(type: NIOSSLServerHandler.self)
      return NIOSSLServerHandlerBox()
    }.get()
  }

  /// The name in a client certificate that this server's own TLS has checked; nil where there is
  /// none, or more than one name, or where it is no host's name.
  public var certificateName: String? {
    get async {
      let names = try? await channel.eventLoop.submit { [channel] () -> [String] in
        let certificate = try channel.pipeline.syncOperations.nioSSL_peerCertificate()
        return certificate?._subjectAlternativeNames().compactMap { name in
          guard name.nameType == .dnsName else { return nil }
          return String(decoding: name.contents, as: UTF8.self)
        } ?? []
      }.get()
      guard let names, names.count == 1, let name = names.first,
        (try? Enrolment.checkName(name)) != nil
      else { return nil }
      return name
    }
  }
}

/// That there is TLS.
private struct NIOSSLServerHandlerBox: Sendable {}
