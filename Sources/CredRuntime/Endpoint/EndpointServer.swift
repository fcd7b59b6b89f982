internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc
internal import Logging

/// Serves HTTP clients on loopback: accepts them, asks the kernel who called, reads requests and
/// writes answers. Each connection has one request at a time.
///
/// Connections are watched by the clients' own epoll, edge-triggered. Users take turns. In a turn,
/// one connection of the user gets one request answered.
@safe final class EndpointServer: ReadinessReceiver {
  /// The bit that is set in the tokens of the endpoint's descriptors, and never in those of
  /// ``ClientServer``.
  static let tokenBit: UInt64 = 1 << 63
  /// How often deadlines are checked while there are connections.
  private static let check = Duration.seconds(1)
  /// The time that one call of ``serve(_:)`` spends on requests.
  private static let turnTime = Duration.microseconds(50)
  private static let readSize = Limits.Endpoint.headBytes
  private static let interest =
    CREDD_EPOLL_IN | CREDD_EPOLL_OUT | CREDD_EPOLL_RDHUP | CREDD_EPOLL_ET

  let loop: EventLoop
  let receiver: any EndpointReceiving
  private let attestation: any ConnectionAttesting
  let units: UnitDirectory
  private let log: Logger
  private let listeners: EndpointListeners
  let refused: RefusedConnections
  private(set) var connections: [UInt64: EndpointConnection] = [:]
  private(set) var lastToken: UInt64 = 0
  /// Connections of each user; those without an attested peer under nil.
  private var counts: [UInt32?: Int] = [:]
  /// Connections of each account.
  private var shares: [Account?: Int] = [:]
  private var turns = TurnQueue<UInt32?, EndpointConnection>()
  /// The connection whose turn it is. Its answer is written at the end of its turn.
  private var current: EndpointConnection?
  private var timer: EventSource?
  private let input: UnsafeMutableBufferPointer<UInt8>
  /// How often the kernel's answer was missing, for each reason.
  private(set) var failures: [AttestationFailure: Int] = [:]
  var limitHits: [HitLimit: Int] = [:]
  /// When a failure is logged again.
  private var nextNotice = Instant(nanoseconds: .min)

  /// Since when no client is connected. Without meaning while one is connected.
  private(set) var emptySince: Instant

  init(
    loop: EventLoop, receiver: any EndpointReceiving, attestation: any ConnectionAttesting,
    units: UnitDirectory, log: Logger, refusalTime: Duration = Limits.Endpoint.refusalTime
  ) throws(SystemError) {
    self.loop = loop
    self.receiver = receiver
    self.attestation = attestation
    self.units = units
    self.log = log
    listeners = try EndpointListeners(loop)
    refused = try RefusedConnections(loop, time: refusalTime)
    emptySince = loop.now
    unsafe input = .allocate(capacity: Self.readSize)
    timer = try loop.timer { [unowned self] _ in self.closeOverdue() }
    loop.setEndpoint(self)
  }

  deinit {
    loop.setEndpoint(nil)
    stopListening()
    unsafe input.deallocate()
  }

  var connectionCount: Int { connections.count }

  var addresses: [EndpointAddress] { listeners.addresses }

  // MARK: Accepting

  /// Accepts clients from a listener on loopback, which the caller still owns.
  func listen(on listener: Int32, at address: EndpointAddress) throws(SystemError) {
    try listeners.add(listener, address)
  }

  /// Accepts no more clients.
  func stopListening() { listeners.removeAll() }

  private func admit(_ descriptor: Int32, at address: EndpointAddress, _ now: Instant) {
    // The kernel is asked before anything is read: see ``AttestedPeer``.
    let answer = attestation.attest(descriptor)
    if case .failure(let failure) = answer { note(failure, now) }
    let attested = try? answer.get()
    let account = attested.map { receiver.account(of: $0.uid) ?? .ownerless }
    guard hasRoom(for: attested?.uid, in: account) else {
      return refuseExcess(descriptor, EndpointConnection.peer(attested))
    }
    lastToken = (lastToken + 1) & (EndpointListeners.tokenBit - 1)
    let connection = EndpointConnection(
      descriptor, token: Self.tokenBit | lastToken, address: address,
      attested: attested, deadline: now + Limits.Endpoint.headTime, server: self)
    insert(connection, in: account, now)
    _ = credd_send_at_once(descriptor)
    guard loop.add(descriptor, Self.interest, connection.token) == 0 else {
      return close(connection)
    }
    if connection.attested != nil {
      connection.client = receiver.connectedToEndpoint(connection, connection)
    }
    // The request has usually arrived already.
    connection.events = CREDD_EPOLL_IN
    queue(connection)
  }

  /// For one more connection.
  private func hasRoom(for owner: UInt32?, in account: Account?) -> Bool {
    connections.count < Limits.Endpoint.connections
      && counts[owner, default: 0] < Limits.Endpoint.connectionsPerUser
      && shares[account, default: 0] < Self.share(of: account)
  }

  private func insert(_ connection: EndpointConnection, in account: Account?, _ now: Instant) {
    if connections.isEmpty { timer?.arm(at: now + Self.check) }
    connections[connection.token] = connection
    connection.account = account
    counts[connection.owner, default: 0] += 1
    shares[connection.account, default: 0] += 1
  }

  /// The most connections of one account. Nil stands for all connections whose user the kernel did
  /// not name.
  private static func share(of account: Account?) -> Int {
    account == .ownerless
      ? Limits.Endpoint.connections / Limits.Client.ownerlessPart
      : Limits.Endpoint.connectionsPerUser
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

  // MARK: Serving

  var isBusy: Bool { !turns.isEmpty }

  func serve(_ ready: borrowing Span<credd_ready>) {
    for index in ready.indices where ready[index].token & Self.tokenBit != 0 {
      let event = ready[index]
      if let connection = connections[event.token] {
        connection.events |= event.events
        queue(connection)
      } else {
        listeners.accept(event.token) { admit($0, at: $1, loop.now) }
      }
    }
    let end = loop.now + Self.turnTime
    var left = turns.count
    while left > 0, let connection = turns.popFirst() {
      left -= 1
      connection.isQueued = false
      current = connection
      serve(connection)
      current = nil
      if hasMore(connection) { queue(connection) }
      if loop.now >= end { break }
    }
  }

  /// Gives a connection a turn in this iteration or the next.
  func queue(_ connection: EndpointConnection) {
    guard !connection.isQueued, !connection.isClosed, connection !== current else { return }
    connection.isQueued = true
    turns.append(connection, of: connection.owner)
  }

  private func serve(_ connection: EndpointConnection) {
    guard !connection.isClosed else { return }
    let now = loop.now
    write(connection, now)
    guard !connection.isClosed else { return }
    if connection.isGone { return close(connection) }
    guard !connection.isBusy, !connection.isClosing else { return }
    if !connection.unread.isEmpty {
      let bytes = connection.unread
      connection.unread = []
      take(bytes.span, connection, now)
    } else if connection.hasInput {
      read(connection, now)
    } else if connection.isInputFinished {
      return close(connection)
    }
    guard !connection.isClosed else { return }
    write(connection, now)
  }

  /// Whether the connection's next request, or the end of its input, waits for another turn.
  private func hasMore(_ connection: EndpointConnection) -> Bool {
    guard !connection.isClosed, !connection.isBusy else { return false }
    return !connection.unread.isEmpty || connection.hasInput || connection.isInputFinished
  }

  private func read(_ connection: EndpointConnection, _ now: Instant) {
    let count = unsafe credd_read(connection.descriptor, input.baseAddress, input.count)
    switch count {
    case 1...:
      // Epoll reports data that come after a short read, but does not report the end again.
      if unsafe count < input.count, connection.events & CREDD_EPOLL_RDHUP == 0 {
        connection.events &= ~CREDD_EPOLL_IN
      }
      let chunk = unsafe UnsafeMutableBufferPointer(rebasing: input[..<count])
      unsafe take(chunk.span, connection, now)
      unsafe credd_wipe(input.baseAddress, count)
    case 0:
      connection.events &= ~(CREDD_EPOLL_IN | CREDD_EPOLL_RDHUP)
      connection.isInputFinished = true
    case -Int(EAGAIN):
      connection.events &= ~(CREDD_EPOLL_IN | CREDD_EPOLL_RDHUP)
    default: close(connection)
    }
  }

  private func take(
    _ chunk: borrowing Span<UInt8>, _ connection: EndpointConnection, _ now: Instant
  ) {
    let isNew = !connection.reader.holdsPartialHead
    var position = 0
    switch connection.reader.next(in: chunk, from: &position) {
    case .needsMore:
      if isNew { connection.deadline = now + Limits.Endpoint.headTime }
    case .refused(let refusal): refuse(refusal, connection)
    case .request(let request):
      if position < chunk.count {
        connection.unread = chunk.extracting(position..<chunk.count).copied
      }
      connection.deadline = now + Limits.Endpoint.headTime
      connection.arrived = now
      answer(request, connection, now)
    }
  }

  /// Writes the output that there is. Closes the connection if it has ended. If the connection has
  /// its answer, its next request may be read.
  private func write(_ connection: EndpointConnection, _ now: Instant) {
    guard connection.hasOutput else {
      if connection.isClosing { close(connection) }
      return
    }
    connection.events &= ~CREDD_EPOLL_OUT
    guard connection.flush(now) else { return close(connection) }
    guard !connection.hasOutput else { return }
    if connection.isClosing {
      close(connection)
    } else if !(connection.client?.isWaiting ?? false) {
      connection.deadline = now + Limits.Endpoint.idleTime
    }
  }

  // MARK: The end of connections

  func close(_ connection: EndpointConnection) {
    guard !connection.isClosed else { return }
    connection.isClosed = true
    // The descriptor is closed with the connection's last reference. If bytes stayed unread, the
    // kernel would send a reset in place of a normal end. So they are read here and wiped.
    credd_finish_sending(connection.descriptor)
    _ = unsafe credd_read(connection.descriptor, input.baseAddress, input.count)
    unsafe credd_wipe(input.baseAddress, input.count)
    connections[connection.token] = nil
    let left = counts[connection.owner, default: 1] - 1
    counts[connection.owner] = left > 0 ? left : nil
    let rest = shares[connection.account, default: 1] - 1
    shares[connection.account] = rest > 0 ? rest : nil
    if connections.isEmpty {
      emptySince = loop.now
      timer?.arm(at: nil)
    }
    if let client = connection.client { receiver.left(client) }
  }

  private func closeOverdue() {
    let now = loop.now
    for connection in connections.values where connection.deadline <= now {
      if connection.reader.holdsPartialHead, !connection.isClosing {
        refuse(.headTooSlow, connection)
        write(connection, now)
      } else {
        close(connection)
      }
    }
    timer?.arm(at: connections.isEmpty ? nil : now + Self.check)
  }

  /// Writes the last answers and closes all connections: the daemon ends.
  func finish() {
    stopListening()
    refused.endAll()
    let now = loop.now
    for connection in connections.values.sorted(by: { $0.token < $1.token }) {
      write(connection, now)
      close(connection)
    }
  }
}
