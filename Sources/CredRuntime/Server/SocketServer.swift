internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc

/// Accepts clients, gives them turns, writes their replies, and closes connections that are too many or
/// too slow. How a client writes its requests, its connection knows: ``FramedConnection``.
///
/// Connections are edge-triggered: epoll reports only once that there is something to read. So
/// connections that wait for their turn cost nothing when the loop polls for new events after every
/// round.
@safe final class SocketServer: ReadinessReceiver {
  let loop: EventLoop
  /// Connections with work: epoll has reported events, or requests were read and not answered.
  let queue = ReadyQueue()
  /// Lines that may still be answered in this turn. Below zero after a very slow one.
  var linesLeft = 0
  let listeners: Listeners
  let table: ConnectionTable
  /// See ``updateDeadline(_:_:)``.
  let deadlines: Deadlines
  /// See ``drain(then:)``.
  var drainTimer: EventSource?
  private let inputBuffer: UnsafeMutableBufferPointer<UInt8>
  private let output = OutputBuffer(capacity: ServerLimits.writeSize)
  /// The connection whose turn it is, and whose replies are in `output`.
  private var current: (any FramedConnection)?
  /// Connections that got replies outside their turns.
  private var pendingReplies: [any FramedConnection] = []
  /// Whether there are pending replies. A separate flag, because every iteration reads it, and
  /// reading the array costs a check of exclusive access.
  private var hasPendingReplies = false
  var limits: ServerLimits
  let receiver: any ClientReceiving

  /// How often the limits of connections were hit.
  var limitHits: [HitLimit: Int] = [:]
  /// Called for each limit that was hit, with the peer of the connection.
  var limitWasHit: (ProtocolError, Peer) -> Void = { _, _ in }

  /// Since when no client is connected. Without meaning while one is connected.
  private(set) var emptySince: Instant

  /// - Parameter isEndpoint: whether its turn in the loop is that of the endpoint.
  init(
    loop: EventLoop, limits: ServerLimits, receiver: any ClientReceiving, isEndpoint: Bool = false
  ) throws(SystemError) {
    self.loop = loop
    emptySince = loop.now
    self.limits = limits
    self.receiver = receiver
    table = ConnectionTable(mark: isEndpoint ? ConnectionTable.endpointBit : 0)
    listeners = try Listeners(loop, mark: table.mark)
    deadlines = Deadlines(loop, check: limits.stallCheck)
    unsafe inputBuffer = .allocate(capacity: ServerLimits.readSize)
    try deadlines.start { [unowned self] in self.endOverdue($0) }
    setReceiver(self)
  }

  deinit {
    setReceiver(nil)
    stopListening()
    while let user = queue.popUser() { while user.popReady() != nil {} }
    unsafe inputBuffer.deallocate()
  }

  private func setReceiver(_ receiver: SocketServer?) {
    if table.mark == 0 { loop.receiver = receiver } else { loop.setEndpoint(receiver) }
  }

  var connectionCount: Int { table.count }

  /// All open connections, in no order.
  var connections: [any FramedConnection] { table.all }

  // MARK: Serving

  var isBusy: Bool { !queue.isEmpty || hasPendingReplies }

  func serve(_ ready: borrowing Span<credd_ready>) {
    // Sources of the loop may have answered clients.
    writeReplies()
    for index in ready.indices {
      let event = ready[index]
      guard event.token & ConnectionTable.endpointBit == table.mark else { continue }
      if let connection = table[event.token] {
        connection.events |= event.events
        queue.append(connection)
      } else {
        listeners.accept(event) { admit($0, at: $1, $2) }
      }
    }
    serveRound()
  }

  /// Gives each user with work a turn.
  private func serveRound() {
    var users = queue.userCount
    while users > 0, let user = queue.popUser() {
      users -= 1
      serve(user)
      if user.hasReady { queue.append(user) }
    }
    writeReplies()
  }

  private func serve(_ user: UserQueue) {
    var now = loop.now
    let end = now + ServerLimits.turnTime
    while now < end, let connection = user.popReady() {
      guard !connection.isClosed else { continue }
      turn(of: connection) { serve(connection, now) }
      now = loop.now
    }
  }

  private func serve(_ connection: any FramedConnection, _ now: Instant) {
    if connection.events & CREDD_EPOLL_OUT != 0 {
      connection.events &= ~CREDD_EPOLL_OUT
      flush(connection)
      takeUnread(connection, now)
      endTurn(connection, now)
    }
    guard !connection.isClosed else { return }
    if !connection.unread.isEmpty, connection.canTakeRequest {
      // Later input waits for the next turn.
      takeUnread(connection, now)
      endTurn(connection, now)
    } else if connection.hasInput, connection.wantsInput {
      receive(connection, now)
    } else if connection.isGone {
      close(connection)
    }
  }

  func receive(_ connection: any FramedConnection, _ now: Instant) {
    let count = unsafe connection.read(into: inputBuffer)
    switch count {
    case 1...:
      connection.hasSentData = true
      if unsafe count < inputBuffer.count { connection.readShort() }
      var position = 0
      let chunk = unsafe UnsafeMutableBufferPointer(rebasing: inputBuffer[..<count])
      unsafe connection.take(chunk.span, from: &position, at: self, now)
      if position < count {
        connection.unread = unsafe Array(chunk[position...])
        connection.unreadPosition = 0
      }
      unsafe credd_wipe(inputBuffer.baseAddress, count)
    case 0:
      connection.isInputFinished = true
      connection.inputDrained()
      takeUnread(connection, now)
    case -Int(EAGAIN):
      connection.inputDrained()
    default:
      return close(connection)
    }
    endTurn(connection, now)
  }

  private func takeUnread(_ connection: any FramedConnection, _ now: Instant) {
    let chunk = connection.unread
    var position = connection.unreadPosition
    connection.take(chunk.span, from: &position, at: self, now)
    connection.unreadPosition = position
    guard position == chunk.count else { return }
    connection.unread = []
    connection.unreadPosition = 0
    if connection.isInputFinished { connection.takeEnd(at: self, now) }
  }

  // MARK: Replies

  /// Sends a reply at the end of the connection's own turn, or, outside its turn, in the next
  /// iteration.
  func reply(_ bytes: [UInt8], to connection: any FramedConnection) {
    guard !connection.isClosed else { return }
    guard connection === current else {
      if !connection.hasPendingReply { pendingReplies.append(connection) }
      connection.hasPendingReply = true
      hasPendingReplies = true
      connection.enqueue(bytes)
      return
    }
    if connection.backlog == 0, output.append(bytes) { return }
    // The buffer is full: write it first. The rest that the peer does not take becomes its backlog;
    // no request of the peer is read until the backlog is empty.
    if connection.backlog == 0 { flush(connection) }
    if connection.backlog > 0 || !output.append(bytes) {
      connection.enqueue(bytes)
    }
  }

  /// Writes replies that connections got outside their own turns. Their next requests wait for a turn
  /// of their user, because many connections of one user may get answers at once.
  func writeReplies() {
    guard hasPendingReplies else { return }
    let now = loop.now
    var index = 0
    // The list may grow meanwhile. The connection that has waited longest comes first.
    while index < pendingReplies.count {
      let connection = pendingReplies[index]
      index += 1
      connection.hasPendingReply = false
      guard !connection.isClosed else { continue }
      turn(of: connection) {
        flush(connection)
        // The client is a watcher that does not read.
        guard connection.backlog <= Limits.Client.backlogBytes else { return close(connection) }
        endTurn(connection, now)
      }
    }
    pendingReplies.removeAll(keepingCapacity: true)
    hasPendingReplies = false
  }

  func turn(of connection: any FramedConnection, _ body: () -> Void) {
    current = connection
    linesLeft = ServerLimits.turnLines
    body()
    current = nil
    output.clear()
  }

  func flush(_ connection: any FramedConnection) {
    if connection.backlog > 0 {
      let sent = connection.sendBacklog()
      guard sent >= 0 || sent == -Int(EAGAIN) else { return close(connection) }
      if sent > 0 { clearDeadline(connection) }
      return
    }
    guard !output.isEmpty else { return }
    let sent = output.send(to: connection.descriptor)
    guard sent >= 0 || sent == -Int(EAGAIN) else {
      return close(connection)
    }
    let rest = output.takeRest(after: max(sent, 0))
    if !rest.isEmpty { connection.enqueue(rest) }
  }

  // MARK: After a turn

  /// Writes the gathered replies, then decides which events to wait for.
  func endTurn(_ connection: any FramedConnection, _ now: Instant) {
    guard !connection.isClosed else { return }
    flush(connection)
    guard !connection.isClosed else { return }
    enforceShare(connection)
    if connection.backlog == 0 {
      let isDone =
        connection.isInputFinished && connection.unread.isEmpty
        && connection.partialBytes == 0 && !connection.isWaiting
      if connection.isClosing || isDone { return close(connection) }
    }
    let hasRequests = !connection.unread.isEmpty && connection.canTakeRequest
    if hasRequests || (connection.hasInput && connection.wantsInput) || connection.isGone {
      // The turn ended before all requests were answered, or the client disconnected before the
      // answer.
      queue.append(connection)
    }
    guard watch(connection) else { return close(connection) }
    updateDeadline(connection, now)
  }

  private static let interest =
    CREDD_EPOLL_IN | CREDD_EPOLL_RDHUP | CREDD_EPOLL_PRI | CREDD_EPOLL_ET

  /// - Returns: false if the kernel has no room for one more.
  private func watch(_ connection: any FramedConnection) -> Bool {
    let events = Self.interest | (connection.backlog > 0 ? CREDD_EPOLL_OUT : 0)
    let before = connection.watchedEvents
    guard events != before else { return true }
    connection.watchedEvents = events
    guard before == 0 else {
      loop.change(connection.descriptor, events, connection.token)
      return true
    }
    // Not when it was accepted: many connections are closed at the end of their first turn.
    return loop.add(connection.descriptor, events, connection.token) == 0
  }

  func close(_ connection: any FramedConnection) {
    guard !connection.isClosed else { return }
    connection.isClosed = true
    connection.countBytes()
    table.remove(connection)
    if table.count == 0 { emptySince = loop.now }
    deadlines.set(nil, of: connection.token)
    // The descriptor is closed with the connection's last reference; that also removes it from the
    // epoll instance.
    if let client = connection.client { receiver.left(client) }
  }
}
