import AuthCore
import AuthStore

/// Where a request came from, for the audit: by that a host is told from whoever took its token along.
struct RequestOrigin: Sendable, Equatable {
  /// The client's address; `local` on a Unix socket.
  var address: String
  /// What entries are counted by: of IPv6 a network, whose addresses somebody may all have.
  var source: String
  /// The id of the host's token, which is no secret; `certificate` where that was shown instead.
  var token: String?
  /// Which certificate that was.
  var certificate: ClientCertificate?

  init(_ peer: Peer, proof: HostProof? = nil) {
    self.init(address: peer.address, source: peer.source, proof: proof)
  }

  init(address: String? = nil, source: String? = nil, proof: HostProof? = nil) {
    self.address = address ?? "local"
    self.source = source ?? self.address
    switch proof {
    case .ticket(let ticket): token = ticket.id
    case .certificate(let shown):
      token = "certificate"
      certificate = shown
    case nil: break
    }
  }

  func members(_ more: [String: String]) -> [String: String] {
    var members = more
    members["address"] = address
    members["token"] = token
    members["serial"] = certificate?.serial
    members["fingerprint"] = certificate?.fingerprint
    return members
  }
}

/// What a host shows with a request, before anybody has looked whether it is true.
struct AskingHost: Sendable {
  let proof: HostProof
  /// The text that stood where a sign-in's token stands.
  let session: String?
  let origin: RequestOrigin
}

extension Request {
  func host() throws(Refusal) -> AskingHost {
    let credentials = try credentials()
    guard let proof = credentials.proof else { throw .hostNotAuthorized }
    return AskingHost(
      proof: proof, session: credentials.session,
      origin: RequestOrigin(connection.peer, proof: proof))
  }
}
