import CLinux
import CredCore
import CredLoopback
import CredctlKit
import Glibc

/// An endpoint in credctl, for one profile of this user. It asks credd's socket for each request.
/// It serves places that the host's endpoint does not reach, such as containers.
///
/// It has two locks: the kernel must say that the other end belongs to this user, and the request
/// must have the token that only the command's environment has.
final class LocalEndpoint {
  /// The address where it listens, and the token that opens it.
  struct Door {
    let listener: Int32
    let address: EndpointAddress
    let token: Secret
  }

  private struct Caller {
    let descriptor: Int32
    var reader = EndpointReader()
    let isAttested: Bool
    var deadline: Int64
  }

  private static let tokenBytes = 32
  private static let mostCallers = 64
  /// The most connections of other users, which are also answered. They are counted apart, so
  /// that others cannot keep this user's programs out by connecting.
  private static let mostStrangers = 4

  let door: Door
  /// Nil leaves it to the daemon.
  private let named: String?
  private var profile: String { named ?? DefaultProfile.ofDaemon }
  private let client: Client
  /// The kernel's table of connections; nil if the kernel is not asked (`--token-only`).
  private let connections: LoopbackConnections?
  private var callers: [Caller] = []

  /// Listens, and checks that the kernel answers.
  init(
    _ named: String?, at address: EndpointAddress, asking client: Client, tokenOnly: Bool
  ) throws(Failure) {
    self.named = named
    self.client = client
    var name = credd_tcp_name(address)
    let listener = unsafe credd_listen_loopback(&name, 128)
    guard listener >= 0 else {
      throw Failure(
        .unavailable, "cannot listen on \(address): \(ErrorText.of(-listener))")
    }
    var random = SystemRandomNumberGenerator()
    let token = (0..<Self.tokenBytes).map { _ in UInt8.random(in: 0...255, using: &random) }
    door = Door(
      listener: listener, address: EndpointAddress(name), token: Secret(Hex.encode(token)))
    connections =
      tokenOnly
      ? nil : try Self.connections(testedAt: name, profile: named ?? DefaultProfile.ofDaemon)
  }

  /// The kernel's table of connections, tested with a question about one of our own connections.
  private static func connections(
    testedAt name: credd_tcp_name, profile: String
  ) throws(Failure) -> LoopbackConnections {
    let descriptor = credd_diag_socket()
    var result = descriptor
    if descriptor >= 0 {
      let connections = LoopbackConnections(descriptor)
      result = test(connections, name)
      if result == 0 { return connections }
    }
    let command = AdvisedCommand.text("serve", profile, "--token-only")
    throw Failure(
      .unavailable,
      "cannot ask the kernel who connects: \(reason(result)); where that is not "
        + "possible, '\(command)' trusts only the token")
  }

  /// - Returns: 0 or -errno.
  private static func test(_ connections: LoopbackConnections, _ name: credd_tcp_name) -> Int32 {
    var name = name
    let connection = unsafe credd_connect_loopback(&name)
    guard connection >= 0 else { return connection }
    defer { credd_close(connection) }
    return connections.answer(about: connection)
  }

  /// Why the kernel did not answer, and what to do. If its modules for such questions are missing,
  /// it answers "no such socket" or "no such protocol".
  private static func reason(_ result: Int32) -> String {
    switch -result {
    case ENOENT, EPROTONOSUPPORT:
      "it lacks its modules tcp_diag and inet_diag; on the host, as root: modprobe tcp_diag"
    default: ErrorText.of(-result)
    }
  }

  /// The descriptor by which the kernel is asked; -1 where it is not asked.
  var table: Int32 { connections?.descriptor ?? -1 }

  /// Serves until the process is ended.
  func serve() -> Never {
    while true {
      var polled = [pollfd(fd: door.listener, events: Int16(POLLIN), revents: 0)]
      polled += callers.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
      let count = unsafe poll(&polled, nfds_t(polled.count), callers.isEmpty ? -1 : 1000)
      if count > 0 {
        for index in callers.indices.reversed() where polled[index + 1].revents != 0 {
          serveCaller(index)
        }
        if polled[0].revents != 0 { accept() }
      }
      let now = Clock.nanoseconds
      for index in callers.indices.reversed() where callers[index].deadline <= now {
        close(index)
      }
    }
  }

  private func accept() {
    let descriptor = credd_accept(door.listener)
    guard descriptor >= 0 else {
      // If there are no descriptors left, the client keeps waiting; an immediate retry would spin.
      if -descriptor != EAGAIN { usleep(100_000) }
      return
    }
    let isAttested = isOwn(descriptor)
    let others = callers.indices.filter { callers[$0].isAttested == isAttested }
    if isAttested, others.count >= Self.mostCallers { return credd_close(descriptor) }
    if !isAttested, others.count >= Self.mostStrangers, let oldest = others.first { close(oldest) }
    callers.append(
      Caller(
        descriptor: descriptor, isAttested: isAttested,
        deadline: Clock.nanoseconds + Self.headTime))
  }

  private static let headTime: Int64 = 10_000_000_000
  private static let idleTime: Int64 = 15_000_000_000

  /// Whether the kernel says that this user made the connection.
  private func isOwn(_ connection: Int32) -> Bool {
    guard let connections else { return true }
    return (try? connections.maker(of: connection).get())?.uid == geteuid()
  }

  private func close(_ index: Int) {
    let descriptor = callers.remove(at: index).descriptor
    credd_finish_sending(descriptor)
    credd_close(descriptor)
  }

  private func serveCaller(_ index: Int) {
    var buffer = [UInt8](repeating: 0, count: Limits.Endpoint.headBytes)
    defer { buffer.wipe() }
    let count = unsafe credd_read(callers[index].descriptor, &buffer, buffer.count)
    guard count > 0 else {
      if count != -Int(EAGAIN) { close(index) }
      return
    }
    let bytes = Array(buffer.prefix(count))
    var position = 0
    while true {
      switch callers[index].reader.next(in: bytes.span, from: &position) {
      case .needsMore: return
      case .refused(let refusal):
        _ = send(.refusal(refusal), index)
        return
      case .request(let request):
        let reply = answer(request, isAttested: callers[index].isAttested)
        guard send(reply, index) else { return }
        callers[index].deadline = Clock.nanoseconds + Self.idleTime
      }
    }
  }

  /// - Returns: whether the connection stays open.
  private func send(_ reply: EndpointReply, _ index: Int) -> Bool {
    let descriptor = callers[index].descriptor
    let sent = unsafe reply.bytes.withUnsafeBytes {
      unsafe credd_send(descriptor, $0.baseAddress, $0.count)
    }
    // The answer fits into the buffer of a connection that is being read.
    let isOver = reply.closes || sent != reply.bytes.count
    if isOver { close(index) }
    return !isOver
  }

  private func answer(_ request: EndpointRequest, isAttested: Bool) -> EndpointReply {
    if let refusal = request.refusal(at: door.address, isAttested: isAttested) {
      return .refusal(refusal)
    }
    guard request.path == .credentialsOf(profile: profile) else { return .refusal(.unknownPath) }
    let expected = door.token.bytes
    guard let token = request.token, token.bytes.isEqual(to: expected.span) else {
      return .refusal(.token)
    }
    return credentials(closes: request.closes)
  }

  private func credentials(closes: Bool) -> EndpointReply {
    var options = GetOptions(profile: named)
    options.waiting = Waiting.ofEndpoint
    do throws(Failure) {
      let answer = try client.askAgain(
        for: .credentials, profile: profile, waiting: options.waiting, seconds: 2
      ) { options.request(waiting: $0) }
      guard let credentials = Credentials(reply: answer.reply) else {
        return .error(ProtocolError(.internal, "credd's reply cannot be used"))
      }
      return .credentials(credentials, closes: closes)
    } catch {
      // An error without a code means that credd is not there. The next try may find it.
      let code = error.code.flatMap { ProtocolErrorCode(rawValue: $0) } ?? .timeout
      return .error(ProtocolError(code, error.message))
    }
  }
}
