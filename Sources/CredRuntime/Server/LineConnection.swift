internal import CLinux
internal import CredCore
internal import CredService

/// A client at a Unix socket, which writes a request a line.
final class LineConnection: Connection, FramedConnection {
  let peer: Peer
  private let accepted: Instant
  private let listener: UnixListener
  /// Cuts the input into lines, and keeps the beginning of an unfinished line.
  private var framer = LineFramer()

  init(
    _ newcomer: Newcomer, at listener: UnixListener, user: UserQueue, token: UInt64,
    accepted: Instant, server: SocketServer
  ) {
    peer = newcomer.peer
    self.accepted = accepted
    self.listener = listener
    super.init(
      newcomer.descriptor, user: user, token: token, server: server,
      mayCarryDescriptors: credd_may_carry_descriptors(newcomer.descriptor))
  }

  func begin() { client = listener.receiver.connected(self, self, at: listener.socket) }

  func take(
    _ bytes: borrowing Span<UInt8>, from position: inout Int, at server: SocketServer,
    _ now: Instant
  ) {
    while position < bytes.count, server.linesLeft > 0, canTakeRequest {
      if partialBytes == 0, let range = LineFramer.line(in: bytes, at: position) {
        position = range.upperBound + 1
        take(bytes.extracting(range), at: server, now)
        continue
      }
      switch nextLine(in: bytes, from: &position) {
      case .line(let range):
        take(bytes.extracting(range), at: server, now)
      case .joined(let line):
        server.clearDeadline(self)  // the next partial line has a time of its own
        take(line.span, at: server, now)
      case .needsMore:
        return
      case .tooLarge:
        position = bytes.count
        isClosing = true
        server.reply(refusal(.requestTooLarge), to: self)
      }
    }
  }

  /// `printf '{}' | nc -N`: the last line needs no newline.
  func takeEnd(at server: SocketServer, _ now: Instant) {
    guard canTakeRequest else { return }
    partialBytes = 0
    if let line = framer.finish() { take(line.span, at: server, now) }
  }

  /// If a request takes longer than a cached answer, it counts as several.
  private func take(_ line: borrowing Span<UInt8>, at server: SocketServer, _ now: Instant) {
    guard let client else { return }
    server.linesLeft -= 1
    let time = listener.receiver.receive(line, from: client, now: now)
    if time > .zero { server.linesLeft -= Int(time / ServerLimits.lineTime) }
  }

  /// See ``LineFramer/next(in:from:)``.
  private func nextLine(
    in bytes: borrowing Span<UInt8>, from position: inout Int
  ) -> LineFramer.Step {
    defer { partialBytes = framer.partialBytes }
    return framer.next(in: bytes, from: &position, newline: LineFramer.fastNewline)
  }

  func dropPartial() { framer = LineFramer() }

  func refusal(_ error: ProtocolError) -> [UInt8] { RenderedReply.error(error).bytes }

  func refusalOfLate() -> [UInt8] {
    refusal(ProtocolError(.timeout, "the request line was not finished in time"))
  }
}

extension LineConnection: PeerFacts {
  func groups() -> [UInt32] { Peer.groups(of: descriptor, primary: peer.gid) }

  func unit() -> String? { CallerUnit.name(of: peer, on: descriptor, accepted: accepted) }

  var isUnitHidden: Bool { CallerUnit.isHidden(peer) }

  func isAlive() -> Bool {
    guard peer.pid > 0, case .known(let pidfd) = PeerProcess(of: descriptor) else { return false }
    defer { credd_close(pidfd) }
    return credd_pidfd_alive(pidfd) == 1
  }

  func startTime() -> Instant? { CallerUnit.started(peer) }
}
