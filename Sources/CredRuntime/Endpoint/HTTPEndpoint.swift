internal import CLinux
public import CredCore
internal import CredLoopback
internal import CredService
internal import Glibc
internal import Logging

/// The sockets of the endpoint: passed by systemd, or bound by this process.
public struct EndpointSockets: Sendable {
  public struct Listener: Sendable {
    public let descriptor: Int32
    public let address: EndpointAddress
  }

  /// The sockets that listen on loopback, each with its address.
  public internal(set) var listeners: [Listener] = []
  /// The sockets for `LoadCredential=`.
  public internal(set) var tokens: [Int32] = []
  /// The socket of inet-diag; nil if none was passed.
  public internal(set) var netlink: Int32?

  public init() {}

  /// A socket that this process has bound for `LoadCredential=`.
  public mutating func addTokenSocket(_ listener: Int32) { tokens.append(listener) }

  public var isEmpty: Bool { listeners.isEmpty && tokens.isEmpty }

  /// Listens on a loopback address.
  public mutating func bind(_ address: EndpointAddress) throws(SystemError) {
    var name = credd_tcp_name(address)
    let listener = unsafe try SystemError.check(
      credd_listen_loopback(&name, 4096), "listen on \(address)")
    listeners.append(Listener(descriptor: listener, address: EndpointAddress(name)))
  }
}

/// The endpoint and the token socket of a daemon.
final class HTTPEndpoint {
  private let server: EndpointServer?
  private let tokens: TokenServer?
  private let log: Logger

  /// - Throws: if a socket cannot be watched.
  init(
    _ sockets: EndpointSockets, loop: EventLoop, service: SessionService,
    clock: any Clock, background: any Background, crypto: any CryptoLoading,
    runtimeDirectory: String?, log: Logger
  ) throws(SystemError) {
    self.log = log
    let key = Self.key(in: runtimeDirectory, log)
    if sockets.tokens.isEmpty {
      tokens = nil
    } else {
      let tokens = TokenServer(
        loop: loop,
        source: TokenServer.Source(
          key: key, crypto: crypto, overflowUID: credd_overflow_uid(), log: log)
      ) { [weak service] owner, profile in service?.tokenGiven(for: profile, to: owner) }
      for socket in sockets.tokens { try tokens.listen(on: socket) }
      self.tokens = tokens
    }
    guard !sockets.listeners.isEmpty else {
      server = nil
      return
    }
    let attestation = Self.attestation(sockets.netlink)
    if case .failure(let error) = attestation {
      log.error("the endpoint refuses everybody: cannot \(error)")
      service.endpointProblem = "it refuses everybody: credd cannot \(error)"
    }
    let server = try EndpointServer(
      loop: loop, receiver: service, attestation: (try? attestation.get()) ?? NoAttestation(),
      units: UnitDirectory(clock: clock, background: background, queries: SystemControlGroups()),
      log: log)
    for listener in sockets.listeners {
      try server.listen(on: listener.descriptor, at: listener.address)
      if let problem = Self.problem(ofPort: listener.address.port) {
        log.warning("\(problem)")
        service.endpointProblem = service.endpointProblem ?? problem
      }
    }
    self.server = server
    service.setAttestationFailures { [weak server] in server?.failures ?? [:] }
    let place = sockets.listeners.first.map {
      EndpointLock.Place(
        address: $0.address, networkNamespace: Self.namespace(of: $0.descriptor))
    }
    // Earlier requests get 503.
    service.endpointStarts()
    crypto.load { [weak service] crypto in
      let lock = crypto.flatMap { crypto in
        TokenKey(key, crypto).map { EndpointLock(key: $0, digests: crypto, place: place) }
      }
      service?.endpointStarted(lock)
    }
  }

  /// HTTP clients cannot see who listens: a program that takes the port gets their tokens.
  private static func problem(ofPort port: UInt16) -> String? {
    guard credd_port_is_open(port) == 1 else { return nil }
    return """
      every user of this host may listen on port \(port) while credd does not, and collect the \
      tokens of its clients; use a port below net.ipv4.ip_unprivileged_port_start
      """
  }

  private static func namespace(of socket: Int32) -> UInt64? {
    var cookie: UInt64 = 0
    return unsafe credd_network_namespace(socket, &cookie) == 0 ? cookie : nil
  }

  private static func key(in folder: String?, _ log: Logger) -> Secret {
    do throws(SystemError) {
      guard let folder else {
        throw SystemError("find the unit's RuntimeDirectory=", number: ENOENT)
      }
      return try TokenKeyFile.take(in: folder)
    } catch {
      log.warning("endpoint tokens end with this process: \(error)")
      return TokenKeyFile.random()
    }
  }

  /// Without the kernel's answers, everybody is refused: clients of systemd's socket must not hang.
  private static func attestation(
    _ netlink: Int32?
  ) -> Result<any ConnectionAttesting, SystemError> {
    Result { () throws(SystemError) in
      let attestation =
        if let netlink { try KernelAttestation(netlink) } else { try KernelAttestation() }
      try attestation.test()
      return attestation
    }
  }

  var connectionCount: Int { server?.connectionCount ?? 0 }

  /// Since when no client is connected; nil if the endpoint is not open.
  var emptySince: Instant? { server?.emptySince }

  /// How often the limits of the endpoint's connections were hit.
  var limitHits: [HitLimit: Int] { server?.limitHits ?? [:] }

  func stopListening() {
    server?.stopListening()
    tokens?.stopListening()
  }

  func finish() { server?.finish() }
}

private final class NoAttestation: ConnectionAttesting {
  func attest(_ connection: Int32) -> Result<AttestedPeer, AttestationFailure> {
    .failure(.noAnswer)
  }
}
