import CredCore
import Logging

/// Decides for each call at a user pool with a replica which of the two regions gets it.
///
/// The primary gets it, unless it was seen to be away: then one call in a while tries the primary, and all
/// others begin at the replica. Where a call meets the outage, the other region gets it too, if that
/// cannot do harm.
final class PoolReplicas {
  /// An outage of a primary: for everybody where no request could reach it, else for the user who met it.
  /// One user's trouble is no other user's.
  private struct Outage: Hashable {
    let backend: String
    let uid: UInt32?
  }

  private let clock: any Clock
  private let log: Logger
  /// The backends that their replicas serve now.
  private var serving: Set<String> = []
  /// By backend, whether renewals give other refresh tokens. Nil until the primary has shown it.
  private var rotates: [String: Bool] = [:]
  /// When the next call tries the primary.
  private var outages: [Outage: Instant] = [:]
  /// By backend, the refresh tokens that the primary may have used up. A replica would take them for
  /// stolen.
  private var spent: [String: Set<Int>] = [:]

  /// With more of them, none of the backend's goes to its replica until the primary is back.
  private static let spentLimit = 10_000
  private static let outagesKept = 1024
  private static let pause = Duration.seconds(60)

  init(_ clock: any Clock, _ log: Logger) {
    self.clock = clock
    self.log = log
  }

  /// Drops what was seen of the old backends. What is spent stays so.
  func forget() {
    serving = []
    rotates = [:]
    outages = [:]
  }

  /// The replica that serves a backend's calls now, for people to read; nil while the primary does.
  func nameInUse(_ backend: BackendSettings) -> String? {
    serving.contains(backend.name) ? backend.replicaName : nil
  }

  /// Notes whether a renewal by the primary gave another refresh token.
  func renewed(_ outcome: UpstreamOutcome, _ call: ReplicaCall) {
    guard case .providerTokens(let tokens, _) = outcome else { return }
    rotates[call.backend.name] = tokens.refresh != nil
  }

  // MARK: Which region

  /// Where a call begins.
  func first(_ call: ReplicaCall) -> PoolPlace {
    guard mayBeServed(call) else { return .primary }
    let known = [nil, call.uid].map { Outage(backend: call.backend.name, uid: $0) }
      .filter { outages[$0] != nil }
    guard !known.isEmpty else { return .primary }
    let now = clock.now
    guard known.allSatisfy({ outages[$0] ?? now <= now }) else { return .replica }
    // This call tries the way back.
    for outage in known { outages[outage] = now + Self.pause }
    return .primary
  }

  private func mayBeServed(_ call: ReplicaCall) -> Bool {
    guard call.backend.replicaName != nil else { return false }
    switch call.use {
    case .never: return false
    case .anew: return true
    case .token(let token): return !(rotates[call.backend.name] ?? true) || !isSpent(token, call)
    }
  }

  /// Whether a call that failed in one region is made in the other one too. With both away, the primary's
  /// failure counts.
  func mayGoOn(
    _ call: ReplicaCall, after failure: UpstreamFailure, at place: PoolPlace
  ) -> Bool {
    let isAway = place == .primary ? failure.meansOutage : failure.meansReplicaIsAway
    guard isAway, mayBeServed(call) else { return false }
    if case .anew(let mayBeginTwice) = call.use { return mayBeginTwice || !failure.isReplyLost }
    return true
  }

  // MARK: What was seen

  /// Takes the end of a call in one region.
  func note(_ failure: UpstreamFailure?, of call: ReplicaCall, at place: PoolPlace) {
    guard call.backend.replicaName != nil else { return }
    if let failure, failure.isReplyLost { spend(call) }
    guard failure?.isAnswer ?? true else { return noteOutage(failure, of: call, at: place) }
    change(call, servesReplica: place == .replica)
    guard place == .primary else { return }
    for uid in [nil, call.uid] { outages[Outage(backend: call.backend.name, uid: uid)] = nil }
    if failure?.failureClass.isTransient ?? false { return }
    if case .token(let token) = call.use {
      spent[call.backend.name]?.remove(token.bytes.hashValue)
    }
  }

  private func noteOutage(_ failure: UpstreamFailure?, of call: ReplicaCall, at place: PoolPlace) {
    guard place == .primary, let failure, failure.meansOutage else { return }
    if outages.count >= Self.outagesKept { outages = [:] }
    let uid = failure.evidence == .certain ? nil : call.uid
    outages[Outage(backend: call.backend.name, uid: uid)] = clock.now + Self.pause
  }

  private func change(_ call: ReplicaCall, servesReplica: Bool) {
    let (backend, name) = (call.backend.name, call.backend.replicaName ?? "")
    guard serving.contains(backend) != servesReplica else { return }
    if servesReplica { serving.insert(backend) } else { serving.remove(backend) }
    log.notice(
      servesReplica
        ? "the user pool's primary region cannot be reached: its replica \(name) serves"
        : "the user pool's primary region serves again",
      metadata: ["upstream": "backend '\(backend)'"])
  }

  // MARK: Refresh tokens with unknown outcome

  private func spend(_ call: ReplicaCall) {
    guard case .token(let token) = call.use else { return }
    let name = call.backend.name
    guard spent[name]?.count ?? 0 <= Self.spentLimit else { return }
    // The hash is keyed anew in each process.
    spent[name, default: []].insert(token.bytes.hashValue)
  }

  private func isSpent(_ token: Secret, _ call: ReplicaCall) -> Bool {
    guard let spent = spent[call.backend.name] else { return false }
    return spent.count > Self.spentLimit || spent.contains(token.bytes.hashValue)
  }
}

/// A call at a backend, as far as its replica matters.
struct ReplicaCall {
  let backend: BackendSettings
  let uid: UInt32
  let use: ReplicaUse
}

/// What a call may do at the replica of a user pool.
enum ReplicaUse {
  /// A replica does not do it.
  case never
  /// It begins anew there.
  ///
  /// - Parameter mayBeginTwice: also where the first region may have carried it out.
  case anew(mayBeginTwice: Bool)
  /// It sends this refresh token, which one renewal may use up.
  case token(Secret)
}
