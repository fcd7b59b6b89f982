internal import CLinux
internal import CredCore
internal import Glibc

/// The clients: accepts them, reads lines, writes replies.
///
/// All connections hang on one epoll instance, which is a single source of the loop: sd-event
/// dispatches one source a turn, which would cost a client a turn each (measured: 90,000 requests
/// a second in place of 330,000).
@safe final class ClientServer {
  let loop: EventLoop
  let epoll: Int32
  private var epollSource: EventSource?
  /// Who has something to do, beyond what epoll says: lines that were read and not answered.
  let queue = ReadyQueue()
  /// Fires as long as somebody is in the queue.
  private var queueSource: EventSource?
  /// Requests that may still be answered in this turn. Below zero where one took very long.
  var linesLeft = 0
  var listeners: [EventSource] = []
  var acceptTimer: EventSource?
  var stallTimer: EventSource?
  /// See ``leave(_:)``.
  var leaving: EventSource?
  /// When the clients that owe something are cut off, by token.
  var stalled: [UInt64: Instant] = [:]
  let table = ConnectionTable()
  private let inputBuffer: UnsafeMutableBufferPointer<UInt8>
  private let output = OutputBuffer(capacity: ServerLimits.writeSize)
  private let ready: UnsafeMutableBufferPointer<credd_ready>
  /// Whose turn it is: the owner of what is in `output`.
  private var current: Connection?
  /// Connections that were given replies outside their turns.
  private var others: [Connection] = []
  var limits: ServerLimits
  unowned let handler: any RequestHandler
  /// Connections accepted, and refused for a limit.
  var accepted: UInt64 = 0
  var refused: UInt64 = 0

  /// Since when nobody is connected; means nothing while somebody is.
  private(set) var emptySince: Instant

  init(loop: EventLoop, limits: ServerLimits, handler: any RequestHandler) throws(SystemError) {
    self.loop = loop
    emptySince = loop.now
    self.limits = limits
    self.handler = handler
    unsafe inputBuffer = .allocate(capacity: ServerLimits.readSize)
    unsafe ready = .allocate(capacity: ServerLimits.clientsPerTurn)
    epoll = try SystemError.check(credd_epoll_create(), "create an epoll instance")
    epollSource = try loop.watch(epoll, for: CREDD_EPOLL_IN) { [unowned self] _ in
      self.serveReadyClients()
    }
    queueSource = try loop.furtherWork { [unowned self] _ in self.serveReadyClients() }
    acceptTimer = try loop.timer { [unowned self] _ in
      self.listeners.forEach { $0.setEnabled(true) }
    }
    stallTimer = try loop.timer { [unowned self] _ in self.cutStalled() }
  }

  deinit {
    epollSource = nil
    while let user = queue.popUser() { while user.popReady() != nil {} }
    unsafe inputBuffer.deallocate()
    unsafe ready.deallocate()
    credd_close(epoll)
  }

  var connectionCount: Int { table.count }

  /// The connection of that token, if it is still open.
  func connection(_ token: UInt64) -> Connection? { table[token] }

  /// All open connections, in no order.
  var connections: [Connection] { table.all }

  // MARK: Serving

  private func serveReadyClients() {
    let count = unsafe credd_epoll_poll(epoll, ready.baseAddress, Int32(ready.count))
    for index in 0..<Int(max(count, 0)) {
      let event = unsafe ready[index]
      // A connection that another one's turn closed is no longer in the table.
      guard let connection = table[event.token] else { continue }
      connection.events |= event.events
      queue.append(connection)
    }
    serveRound()
  }

  /// Gives each user who waits a turn, and comes back soon where somebody waits on.
  func serveRound() {
    var users = queue.userCount
    while users > 0, let user = queue.popUser() {
      users -= 1
      serve(user)
      if user.hasReady { queue.append(user) }
    }
    finishTurn()
    queueSource?.setEnabled(!queue.isEmpty)
  }

  private func serve(_ user: UserShare) {
    var now = loop.now
    let end = now + ServerLimits.turnTime
    while now < end, let connection = user.popReady() {
      guard !connection.isClosed else { continue }
      let events = connection.events
      connection.events = 0
      turn(of: connection) { serve(connection, events, now) }
      now = loop.now
    }
  }

  private func serve(_ connection: Connection, _ events: UInt32, _ now: Instant) {
    if events & CREDD_EPOLL_OUT != 0 {
      flush(connection)
      takeUnread(connection, now)
      settle(connection, now)
    }
    guard !connection.isClosed else { return }
    if !connection.unread.isEmpty, canTakeLine(connection) {
      // What came later waits its turn; epoll will say again that it is there.
      takeUnread(connection, now)
      settle(connection, now)
    } else if events & (CREDD_EPOLL_IN | CREDD_EPOLL_RDHUP) != 0, wantsInput(connection) {
      receive(connection, now)
    } else if events & (CREDD_EPOLL_HUP | CREDD_EPOLL_ERR) != 0 {
      close(connection)
    }
  }

  func wantsInput(_ connection: Connection) -> Bool {
    connection.parked == nil && connection.backlog == 0 && !connection.isInputFinished
      && !connection.isClosing
  }

  func receive(_ connection: Connection, _ now: Instant) {
    let count = unsafe connection.read(into: inputBuffer)
    switch count {
    case 1...:
      connection.hasSpoken = true
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
      takeUnread(connection, now)
    case -Int(EAGAIN):
      return
    default:
      return close(connection)
    }
    settle(connection, now)
  }

  // MARK: Lines

  private func takeLines(
    in chunk: borrowing Span<UInt8>, from position: inout Int, _ connection: Connection,
    _ now: Instant
  ) {
    let handler = handler
    while position < chunk.count, linesLeft > 0, canTakeLine(connection) {
      if !connection.holdsPartialLine, let range = LineFramer.line(in: chunk, at: position) {
        position = range.upperBound + 1
        linesLeft -= 1
        handler.handle(chunk.extracting(range), from: connection, now: now)
        continue
      }
      switch connection.nextLine(in: chunk, from: &position) {
      case .line(let range):
        linesLeft -= 1
        handler.handle(chunk.extracting(range), from: connection, now: now)
      case .joined(let line):
        linesLeft -= 1
        noLongerStalled(connection)  // the next partial line has a time of its own
        handler.handle(line.span, from: connection, now: now)
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
      handler.handle(line.span, from: connection, now: now)
    }
  }

  private func canTakeLine(_ connection: Connection) -> Bool {
    connection.parked == nil && connection.backlog == 0 && !connection.isClosing
      && !connection.isClosed
  }

  // MARK: Replies

  /// Gives a reply. In the connection's own turn it is written when the turn ends; else call
  /// ``finishTurn()`` after the last reply.
  func reply(_ bytes: [UInt8], to connection: Connection) {
    guard !connection.isClosed else { return }
    guard connection === current else {
      if !connection.isOwedTurn { others.append(connection) }
      connection.isOwedTurn = true
      connection.owe(bytes)
      return
    }
    if connection.backlog == 0, output.append(bytes) { return }
    // Full: write first. What the peer does not take becomes its backlog, which stops its lines.
    if connection.backlog == 0 { flush(connection) }
    if connection.backlog > 0 || !output.append(bytes) {
      connection.owe(bytes)
    }
  }

  /// Writes what was given to connections outside their own turns, and goes on with their lines.
  func finishTurn() {
    guard !others.isEmpty else { return }
    let now = loop.now
    while let connection = others.popLast() {
      connection.isOwedTurn = false
      guard !connection.isClosed else { continue }
      turn(of: connection) {
        flush(connection)
        // Who does not listen to what they asked to hear.
        guard connection.backlog <= Limits.backlogBytes else { return close(connection) }
        takeUnread(connection, now)
        settle(connection, now)
      }
    }
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
      if sent > 0 { noLongerStalled(connection) }
      return
    }
    guard !output.isEmpty else { return }
    let sent = output.send(to: connection.descriptor)
    guard sent >= 0 || sent == -Int(EAGAIN) else {
      return close(connection)
    }
    let rest = output.takeRest(after: max(sent, 0))
    if !rest.isEmpty { connection.owe(rest) }
  }

  // MARK: After a turn

  /// Writes what was gathered, then decides what to wait for.
  private func settle(_ connection: Connection, _ now: Instant) {
    guard !connection.isClosed else { return }
    flush(connection)
    guard !connection.isClosed else { return }
    holdToShare(connection)
    if connection.backlog == 0 {
      let isDone =
        connection.isInputFinished && connection.unread.isEmpty
        && !connection.holdsPartialLine && connection.parked == nil
      if connection.isClosing || isDone { return close(connection) }
    }
    if !connection.unread.isEmpty, canTakeLine(connection) {
      // Its turn is over before its lines are.
      queue.append(connection)
      queueSource?.setEnabled(true)
    }
    var interest: UInt32 = 0
    if connection.backlog > 0 { interest |= CREDD_EPOLL_OUT }
    if wantsInput(connection) { interest |= CREDD_EPOLL_IN | CREDD_EPOLL_RDHUP }
    if interest != connection.interest {
      connection.interest = interest
      _ = credd_epoll_change(epoll, connection.descriptor, interest, connection.token)
    }
    noteStall(connection, now)
  }

  func close(_ connection: Connection) {
    guard !connection.isClosed else { return }
    connection.isClosed = true
    connection.account()
    table.remove(connection)
    if table.count == 0 { emptySince = loop.now }
    stalled[connection.token] = nil
    // Its descriptor is closed with its last reference, which takes it out of the epoll instance.
    handler.closed(connection)
  }
}
