import AuthCore
import AuthStore

/// Where a request came from, for the audit: by that a host is told from whoever took its token along.
struct RequestOrigin: Sendable, Equatable {
  /// The client's address; `local` on a Unix socket.
  var address: String
  /// The id of the host's token, which is no secret; `certificate` where that was shown instead.
  var token: String?

  init(address: String? = nil, proof: HostProof? = nil) {
    self.address = address ?? "local"
    switch proof {
    case .ticket(let ticket): token = ticket.id
    case .certificate: token = "certificate"
    case nil: break
    }
  }

  func members(_ more: [String: String]) -> [String: String] {
    var members = more
    members["address"] = address
    members["token"] = token
    return members
  }
}
