internal import CredCore
internal import CredService
internal import Glibc
internal import Logging

/// The Unix sockets at which clients connect: those that systemd passed, and those that this process
/// binds for sections `[socket PATH]`.
final class SocketSections {
  /// A socket that this process has bound, and removes.
  private final class Bound {
    let socket: ListeningSocket

    init(_ path: UnixSocketPath) throws(SystemError) {
      // The daemon of the whole host lets every user connect, as at its main socket.
      socket = try ListeningSocket(path: path.description, mode: ListeningSocket.modeOfClients)
    }
  }

  private let server: SocketServer
  private let service: SessionService
  private let log: Logger
  /// In the order in which they were opened. None is closed before the daemon ends, so that none can
  /// become a socket without a cap.
  private var listening: [ClientSocket] = []
  private var bound: [UnixSocketPath: Bound] = [:]
  /// The problems that were logged, by their sockets.
  private var told: [UnixSocketPath: String] = [:]

  init(server: SocketServer, service: SessionService, log: Logger) {
    self.server = server
    self.service = service
    self.log = log
  }

  /// Serves a socket whose descriptor stays the caller's.
  func add(_ descriptor: Int32, name: String) throws(SystemError) {
    let socket = ClientSocket(path: UnixSocketPath(boundTo: descriptor), name: name)
    try server.listen(at: UnixListener(descriptor, as: socket, receiver: service))
    listening.append(socket)
  }

  /// Binds what the sections lack, and looks which sockets are closed. Call it with each configuration
  /// that is in force.
  ///
  /// - Returns: the sockets for `status`.
  func follow() -> [ListenerReport] {
    let sections = service.configuration.configuration.sockets.values.sorted { $0.path < $1.path }
    var failed: [ListenerReport] = []
    for section in sections where !listening.contains(where: { $0.path == section.path }) {
      guard let problem = bind(section) else { continue }
      failed.append(
        ListenerReport(.capped, address: section.path.description, problem: problem))
    }
    let passed = listening.filter { bound[$0.path] == nil }
    let reports =
      listening.map { socket in
        ListenerReport(
          socket.isCapped ? .capped : .socket, address: socket.path.description,
          problem: service.problem(of: socket, among: passed))
      } + failed
    tell(reports)
    return reports
  }

  /// - Returns: why the socket cannot be bound; nil if it is.
  private func bind(_ section: SocketSettings) -> String? {
    do throws(SystemError) {
      let made = try Bound(section.path)
      try add(made.socket.descriptor, name: ClientSocket.nameOfCapped)
      bound[section.path] = made
      return nil
    } catch {
      return "cannot \(error): let systemd pass \(section.title) of \(section.position) with "
        + "FileDescriptorName=capped, or let credd write to this folder"
    }
  }

  /// Logs each problem once, until there is another one.
  private func tell(_ reports: [ListenerReport]) {
    var present: [UnixSocketPath: String] = [:]
    for report in reports {
      guard let problem = report.problem else { continue }
      let path = UnixSocketPath(report.address)
      present[path] = problem
      if told[path] != problem { log.error("the socket \(report.address): \(problem)") }
    }
    told = present
  }

  /// Removes the sockets that this process has bound.
  func removeBound() { bound = [:] }
}
