internal import CLinux
internal import CredCore
internal import Glibc

/// The clients: accepts them, reads lines, writes replies.
///
/// epoll says once that there is something to read, not until it was read: those who wait for their
/// turn cost nothing when others are looked for in between, which can thus be done often.
@safe final class ClientServer: Crowd {
  let loop: EventLoop
  /// Who has something to do: what epoll said of them, or lines that were read and not answered.
  let queue = ReadyQueue()
  /// Requests that may still be answered in this turn. Below zero where one took very long.
  var linesLeft = 0
  var listeners: [Int32] = []
  /// See `credd_refuse_senders`: whether some who come may still have to be told.
  var namesSenders = false
  var acceptTimer: EventSource?
  var stallTimer: EventSource?
  /// See ``leave(_:)``.
  var leaving: EventSource?
  /// When the clients that owe something are cut off, by token.
  var stalled: [UInt64: Instant] = [:]
  let table = ConnectionTable()
  private let inputBuffer: UnsafeMutableBufferPointer<UInt8>
  private let output = OutputBuffer(capacity: ServerLimits.writeSize)
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
    acceptTimer = try loop.timer { [unowned self] _ in self.resumeAccepting() }
    stallTimer = try loop.timer { [unowned self] _ in self.cutStalled() }
    loop.crowd = self
  }

  deinit {
    loop.crowd = nil
    stopListening()
    while let user = queue.popUser() { while user.popReady() != nil {} }
    unsafe inputBuffer.deallocate()
  }

  var connectionCount: Int { table.count }

  /// The connection of that token, if it is still open.
  func connection(_ token: UInt64) -> Connection? { table[token] }

  /// All open connections, in no order.
  var connections: [Connection] { table.all }

  // MARK: Serving

  var isWaiting: Bool { !queue.isEmpty }

  func serve(_ ready: borrowing Span<credd_ready>) {
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

  /// Gives each user who waits a turn.
  private func serveRound() {
    var users = queue.userCount
    while users > 0, let user = queue.popUser() {
      users -= 1
      serve(user)
      if user.hasReady { queue.append(user) }
    }
    finishTurn()
  }

  private func serve(_ user: UserShare) {
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
      settle(connection, now)
    }
    guard !connection.isClosed else { return }
    if !connection.unread.isEmpty, canTakeLine(connection) {
      // What came later waits its turn.
      takeUnread(connection, now)
      settle(connection, now)
    } else if connection.hasInput, wantsInput(connection) {
      receive(connection, now)
    } else if connection.isGone {
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
      if unsafe count < inputBuffer.count { connection.tookInput() }
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
      connection.noMoreInput()
      takeUnread(connection, now)
    case -Int(EAGAIN):
      return connection.noMoreInput()
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
    var index = 0
    // It may grow meanwhile. Who has waited longest comes first.
    while index < others.count {
      let connection = others[index]
      index += 1
      connection.isOwedTurn = false
      guard !connection.isClosed else { continue }
      turn(of: connection) {
        flush(connection)
        // Who does not listen to what they asked to hear.
        guard connection.backlog <= Limits.Client.backlogBytes else { return close(connection) }
        takeUnread(connection, now)
        settle(connection, now)
      }
    }
    others.removeAll(keepingCapacity: true)
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
    let hasLines = !connection.unread.isEmpty && canTakeLine(connection)
    if hasLines || (connection.hasInput && wantsInput(connection)) || connection.isGone {
      // Its turn is over before its lines are; or it left before it was answered.
      queue.append(connection)
    }
    if connection.awaitsRoom != (connection.backlog > 0) {
      connection.awaitsRoom = connection.backlog > 0
      let room = connection.awaitsRoom ? CREDD_EPOLL_OUT : 0
      loop.change(connection.descriptor, Self.interest | room, connection.token)
    }
    noteStall(connection, now)
  }

  static let interest =
    CREDD_EPOLL_IN | CREDD_EPOLL_RDHUP | CREDD_EPOLL_PRI | CREDD_EPOLL_ET

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
