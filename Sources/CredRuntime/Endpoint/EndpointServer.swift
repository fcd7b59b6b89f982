internal import CLinux
internal import CredCore
internal import CredService
internal import Logging

/// Serves HTTP clients on loopback: asks the kernel who called, and takes leave of callers that are too
/// many.
final class EndpointServer {
  let sockets: SocketServer
  let receiver: any EndpointReceiving
  let units: UnitDirectory
  let refused: RefusedConnections
  private let attestation: any ConnectionAttesting
  private let log: Logger
  /// How often the kernel's answer was missing, for each reason.
  private(set) var failures: [AttestationFailure: Int] = [:]
  /// When a failure is logged again.
  private var nextNotice = Instant(nanoseconds: .min)

  init(
    loop: EventLoop, receiver: any EndpointReceiving, attestation: any ConnectionAttesting,
    units: UnitDirectory, log: Logger, refusalTime: Duration = Limits.Endpoint.refusalTime
  ) throws(SystemError) {
    sockets = try SocketServer(
      loop: loop, limits: .endpoint, receiver: receiver, isEndpoint: true)
    self.receiver = receiver
    self.attestation = attestation
    self.units = units
    self.log = log
    refused = try RefusedConnections(loop, time: refusalTime)
  }

  var connectionCount: Int { sockets.connectionCount }

  var emptySince: Instant { sockets.emptySince }

  var limitHits: [HitLimit: Int] { sockets.limitHits }

  /// Accepts clients from a listener on loopback, which the caller still owns.
  func listen(on listener: Int32, at address: EndpointAddress) throws(SystemError) {
    try sockets.listen(at: LoopbackListener(listener, at: address, self))
  }

  /// Accepts no more clients.
  func stopListening() { sockets.stopListening() }

  /// Writes the last answers and closes all connections: the daemon ends.
  func finish() {
    refused.endAll()
    sockets.finish()
  }

  /// Asks the kernel who made a connection, before anything is read: see ``AttestedPeer``. Connections
  /// that it does not attest count together, as those of one user.
  func newcomer(_ descriptor: Int32, _ now: Instant) -> Newcomer {
    let answer = attestation.attest(descriptor)
    if case .failure(let failure) = answer { note(failure, now) }
    let attested = try? answer.get()
    let uid = attested?.uid ?? .max
    return Newcomer(
      descriptor: descriptor, peer: Peer(uid: uid, gid: .max, pid: 0),
      account: attested == nil ? .user(uid) : receiver.account(of: uid) ?? .ownerless,
      attested: attested)
  }

  /// Logged once a minute, because any process can make connections that close at once.
  private func note(_ failure: AttestationFailure, _ now: Instant) {
    failures[failure, default: 0] += 1
    guard now >= nextNotice else { return }
    nextNotice = now + .seconds(60)
    log.notice(
      "the kernel did not say who made a connection to the endpoint",
      metadata: ["reason": "\(failure.rawValue)"])
  }

  private static let tooManyConnections = EndpointReply.refusal(.tooManyConnections).bytes

  /// Refuses a connection beyond a limit, without an object and a turn.
  func refuseExcess(_ newcomer: Newcomer) {
    receiver.refused(.tooManyConnections, of: newcomer.peer)
    _ = unsafe Self.tooManyConnections.withUnsafeBytes {
      unsafe credd_send(newcomer.descriptor, $0.baseAddress, $0.count)
    }
    refused.take(newcomer.descriptor)
  }
}

extension ServerLimits {
  /// The limits of the endpoint.
  fileprivate static let endpoint: ServerLimits = {
    var limits = ServerLimits(
      connections: Limits.Endpoint.connections,
      connectionsPerUser: Limits.Endpoint.connectionsPerUser)
    limits.accepted = Limits.Endpoint.headTime
    limits.partialLine = Limits.Endpoint.headTime
    limits.blockedWrite = Limits.Endpoint.writeTime
    limits.idle = Limits.Endpoint.idleTime
    return limits
  }()
}
