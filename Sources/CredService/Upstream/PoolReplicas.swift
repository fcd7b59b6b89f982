import CredCore
import Logging

/// Which user pools their replicas serve now, and which refresh tokens must not go there.
///
/// The primary is tried first, unless its circuit is open: then one call in a while tries it, and all
/// others go to the replica at once.
final class PoolReplicas {
  private struct State {
    var servesReplica = false
    /// Whether renewals give other refresh tokens; nil until one was seen.
    var rotatesTokens: Bool?
  }

  private let log: Logger
  private var states: [String: State] = [:]
  /// Refresh tokens that the primary may have used up. The replica would take them for stolen.
  private var spent: Set<Int> = []
  /// With more of them, none goes to a replica until the primary is back.
  private static let spentLimit = 10_000

  init(_ log: Logger) { self.log = log }

  /// The replica that serves a backend's calls now, for people to read; nil while the primary does.
  func nameInUse(_ backend: BackendSettings) -> String? {
    states[backend.name]?.servesReplica ?? false ? backend.replicaName : nil
  }

  /// Whether a call that failed at the primary may be made at the replica.
  func mayServe(_ use: ReplicaUse, after failure: UpstreamFailure, _ backend: BackendSettings)
    -> Bool
  {
    guard backend.replicaName != nil, failure.meansOutage else { return false }
    switch use {
    case .never: return false
    case .anew(let mayBeginTwice): return mayBeginTwice || !failure.isReplyLost
    case .token(let token):
      if failure.isReplyLost { keep(token) }
      return !(states[backend.name]?.rotatesTokens ?? true) || !isSpent(token)
    }
  }

  /// Notes the place that answered a call.
  func answered(_ place: PoolPlace, _ use: ReplicaUse, _ backend: BackendSettings) {
    guard let name = backend.replicaName else { return }
    change(backend.name, name, servesReplica: place == .replica)
    guard place == .primary else { return }
    if case .token(let token) = use { spent.remove(Self.hash(of: token)) }
    if spent.count > Self.spentLimit { spent = [] }
  }

  private func change(_ backend: String, _ name: String, servesReplica: Bool) {
    guard states[backend, default: State()].servesReplica != servesReplica else { return }
    states[backend, default: State()].servesReplica = servesReplica
    log.notice(
      servesReplica
        ? "the user pool's primary region cannot be reached: its replica \(name) serves"
        : "the user pool's primary region serves again",
      metadata: ["upstream": "backend '\(backend)'"])
  }

  /// Notes whether a renewal gave another refresh token.
  func renewed(_ tokens: ProviderTokens, _ backend: BackendSettings) {
    guard backend.replicaName != nil else { return }
    states[backend.name, default: State()].rotatesTokens = tokens.refresh != nil
  }

  /// Keyed anew in each process.
  private static func hash(of token: Secret) -> Int { token.bytes.hashValue }

  private func keep(_ token: Secret) {
    if spent.count <= Self.spentLimit { spent.insert(Self.hash(of: token)) }
  }

  private func isSpent(_ token: Secret) -> Bool {
    spent.count > Self.spentLimit || spent.contains(Self.hash(of: token))
  }
}

/// What a call may do at the replica of a user pool.
enum ReplicaUse {
  /// A replica does not do it, or it belongs to a sign-in that began elsewhere.
  case never
  /// It begins anew there.
  ///
  /// - Parameter mayBeginTwice: also where the primary may have carried it out.
  case anew(mayBeginTwice: Bool)
  /// It sends this refresh token, which the primary may have used up.
  case token(Secret)
}
