internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc

/// Accepts clients, reads lines, writes replies.
///
/// Connections are edge-triggered: epoll reports only once that there is something to read. So
/// connections that wait for their turn cost nothing when the loop polls for new events after every
/// round.
@safe final class ClientServer: ReadinessReceiver {
  let loop: EventLoop
  /// Connections with work: epoll has reported events, or lines were read and not answered.
  let queue = ReadyQueue()
  /// Requests that may still be answered in this turn. Below zero after a very slow one.
  private(set) var linesLeft = 0
  var listeners: [ClientListener] = []
  /// Whether a listener was set to add the sender to each message. Then clients that connected
  /// earlier need `credd_refuse_senders` too.
  var namesSenders = false
  var acceptTimer: EventSource?
  var stallTimer: EventSource?
  /// See ``drain(then:)``.
  var drainTimer: EventSource?
  /// Deadlines of connections that do not end a line or do not take replies, by token.
  var stalled: [UInt64: Instant] = [:]
  let table = ConnectionTable()
  private let inputBuffer: UnsafeMutableBufferPointer<UInt8>
  private let output = OutputBuffer(capacity: ServerLimits.writeSize)
  /// The connection whose turn it is, and whose replies are in `output`.
  private var current: Connection?
  /// Connections that got replies outside their turns.
  private var pendingReplies: [Connection] = []
  /// Whether there are pending replies. A separate flag, because every iteration reads it, and
  /// reading the array costs a check of exclusive access.
  private var hasPendingReplies = false
  var limits: ServerLimits
  let receiver: any LineReceiving

  /// How often the limits of connections were hit.
  var limitHits: [HitLimit: Int] = [:]
  /// Called for each limit that was hit, with the peer of the connection.
  var limitWasHit: (ProtocolError, Peer) -> Void = { _, _ in }

  /// Since when no client is connected. Without meaning while one is connected.
  private(set) var emptySince: Instant

  init(
    loop: EventLoop, limits: ServerLimits, receiver: any LineReceiving
  ) throws(SystemError) {
    self.loop = loop
    emptySince = loop.now
    self.limits = limits
    self.receiver = receiver
    unsafe inputBuffer = .allocate(capacity: ServerLimits.readSize)
    acceptTimer = try loop.timer { [unowned self] _ in self.resumeAccepting() }
    stallTimer = try loop.timer { [unowned self] _ in self.closeStalled() }
    loop.receiver = self
  }

  deinit {
    loop.receiver = nil
    stopListening()
    while let user = queue.popUser() { while user.popReady() != nil {} }
    unsafe inputBuffer.deallocate()
  }

  var connectionCount: Int { table.count }

  /// All open connections, in no order.
  var connections: [Connection] { table.all }

  // MARK: Serving

  var isBusy: Bool { !queue.isEmpty || hasPendingReplies }

  func serve(_ ready: borrowing Span<credd_ready>) {
    // Sources of the loop may have answered clients.
    writeReplies()
    for index in ready.indices {
      let event = ready[index]
      if let connection = table[event.token] {
        connection.events |= event.events
        queue.append(connection)
      } else if let listener = listeners.first(where: { Self.token(of: $0) == event.token }) {
        accept(from: listener, event.events)
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

  private func serve(_ connection: Connection, _ now: Instant) {
    if connection.events & CREDD_EPOLL_OUT != 0 {
      connection.events &= ~CREDD_EPOLL_OUT
      flush(connection)
      takeUnread(connection, now)
      endTurn(connection, now)
    }
    guard !connection.isClosed else { return }
    if !connection.unread.isEmpty, canTakeLine(connection) {
      // Later input waits for the next turn.
      takeUnread(connection, now)
      endTurn(connection, now)
    } else if connection.hasInput, wantsInput(connection) {
      receive(connection, now)
    } else if connection.isGone {
      close(connection)
    }
  }

  func wantsInput(_ connection: Connection) -> Bool {
    !connection.isWaiting && connection.backlog == 0 && !connection.isInputFinished
      && !connection.isClosing
  }

  func receive(_ connection: Connection, _ now: Instant) {
    let count = unsafe connection.read(into: inputBuffer)
    switch count {
    case 1...:
      connection.hasSentData = true
      if unsafe count < inputBuffer.count { connection.readShort() }
      var position = 0
      let chunk = unsafe UnsafeMutableBufferPointer(rebasing: inputBuffer[..<count])
      unsafe takeLines(in: chunk.span, from: &position, connection, now)
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
      return connection.inputDrained()
    default:
      return close(connection)
    }
    endTurn(connection, now)
  }

  // MARK: Lines

  private func takeLines(
    in chunk: borrowing Span<UInt8>, from position: inout Int, _ connection: Connection,
    _ now: Instant
  ) {
    while position < chunk.count, linesLeft > 0, canTakeLine(connection) {
      if !connection.holdsPartialLine, let range = LineFramer.line(in: chunk, at: position) {
        position = range.upperBound + 1
        take(chunk.extracting(range), connection, now)
        continue
      }
      switch connection.nextLine(in: chunk, from: &position) {
      case .line(let range):
        take(chunk.extracting(range), connection, now)
      case .joined(let line):
        clearStallDeadline(connection)  // the next partial line has a time of its own
        take(line.span, connection, now)
      case .needsMore:
        return
      case .tooLarge:
        position = chunk.count
        connection.isClosing = true
        reply(RenderedReply.error(.requestTooLarge).bytes, to: connection)
      }
    }
  }

  private func takeUnread(_ connection: Connection, _ now: Instant) {
    let chunk = connection.unread
    var position = connection.unreadPosition
    takeLines(in: chunk.span, from: &position, connection, now)
    connection.unreadPosition = position
    guard position == chunk.count else { return }
    connection.unread = []
    connection.unreadPosition = 0
    // `printf '{}' | nc -N`: the last line needs no newline.
    if connection.isInputFinished, canTakeLine(connection), let line = connection.lastLine() {
      take(line.span, connection, now)
    }
  }

  /// If a request takes longer than a cached answer, it counts as several.
  private func take(_ line: borrowing Span<UInt8>, _ connection: Connection, _ now: Instant) {
    guard let client = connection.client else { return }
    linesLeft -= 1
    let time = receiver.receive(line, from: client, now: now)
    if time > .zero { linesLeft -= Int(time / ServerLimits.lineTime) }
  }

  private func canTakeLine(_ connection: Connection) -> Bool {
    !connection.isWaiting && connection.backlog == 0 && !connection.isClosing
      && !connection.isClosed
  }

  // MARK: Replies

  /// Sends a reply at the end of the connection's own turn, or, outside its turn, in the next
  /// iteration.
  func reply(_ bytes: [UInt8], to connection: Connection) {
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
    // no line of the peer is read until the backlog is empty.
    if connection.backlog == 0 { flush(connection) }
    if connection.backlog > 0 || !output.append(bytes) {
      connection.enqueue(bytes)
    }
  }

  /// Writes replies that connections got outside their own turns. Their next lines wait for a turn
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

  func turn(of connection: Connection, _ body: () -> Void) {
    current = connection
    linesLeft = ServerLimits.turnLines
    body()
    current = nil
    output.clear()
  }

  func flush(_ connection: Connection) {
    if connection.backlog > 0 {
      let sent = connection.sendBacklog()
      guard sent >= 0 || sent == -Int(EAGAIN) else { return close(connection) }
      if sent > 0 { clearStallDeadline(connection) }
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
  private func endTurn(_ connection: Connection, _ now: Instant) {
    guard !connection.isClosed else { return }
    flush(connection)
    guard !connection.isClosed else { return }
    enforceShare(connection)
    if connection.backlog == 0 {
      let isDone =
        connection.isInputFinished && connection.unread.isEmpty
        && !connection.holdsPartialLine && !connection.isWaiting
      if connection.isClosing || isDone { return close(connection) }
    }
    let hasLines = !connection.unread.isEmpty && canTakeLine(connection)
    if hasLines || (connection.hasInput && wantsInput(connection)) || connection.isGone {
      // The turn ended before all lines were answered, or the client disconnected before the
      // answer.
      queue.append(connection)
    }
    if connection.watchesWritable != (connection.backlog > 0) {
      connection.watchesWritable = connection.backlog > 0
      let room = connection.watchesWritable ? CREDD_EPOLL_OUT : 0
      loop.change(connection.descriptor, Self.interest | room, connection.token)
    }
    updateStallDeadline(connection, now)
  }

  static let interest =
    CREDD_EPOLL_IN | CREDD_EPOLL_RDHUP | CREDD_EPOLL_PRI | CREDD_EPOLL_ET

  func close(_ connection: Connection) {
    guard !connection.isClosed else { return }
    connection.isClosed = true
    connection.countBytes()
    table.remove(connection)
    if table.count == 0 { emptySince = loop.now }
    stalled[connection.token] = nil
    // The descriptor is closed with the connection's last reference; that also removes it from the
    // epoll instance.
    if let client = connection.client { receiver.left(client) }
  }
}
