import CLinux
import CredCore
import CredLoopback
import CredctlKit
import Glibc

/// Listens on loopback for the browser of one sign-in.
///
/// Any user of the host can connect to it, and `state` does not protect against that. So before it
/// reads a byte, it asks the kernel who made the connection. That must be this user, or root,
/// because the browser of Windows and forwarded ports connect as root. Only a `GET` of the redirect
/// URI with this sign-in's state counts; all other requests are answered and change nothing.
final class BrowserListener {
  /// A connection of this user.
  struct Visitor {
    let descriptor: CInt
    var bytes: [UInt8] = []
    let deadline: Int64
  }

  /// An event for the waiting loop.
  enum Event {
    /// The browser is back, and waits for the page.
    case response(Secret, Visitor)
    /// Another user has connected and was refused: the user is warned.
    case stranger(uid: UInt32?)
  }

  /// The redirect URI for the daemon's request.
  let redirectURI: String
  let port: UInt16
  private let uri: LoopbackURI
  private let listeners: [CInt]
  private let connections: LoopbackConnections
  private var visitors: [Visitor] = []
  private var sign: Sign?
  private var hasWarned: Set<UInt32> = []

  /// The facts about the sign-in, once the daemon has begun it.
  private struct Sign {
    let back: BrowserReturn
    let url: Secret
    var isStarted = false
  }

  /// The most visitors. A browser does not make more; the oldest makes room.
  private static let mostVisitors = 8
  /// The time for a request's head.
  private static let headTime: Int64 = 5_000_000_000
  private static let backlog: CInt = 64
  /// How many connections are accepted in a row, before the accepted ones are read.
  private static let acceptsAtOnce = 16

  private init(
    _ uri: LoopbackURI, _ port: UInt16, _ listeners: [CInt], _ connections: LoopbackConnections
  ) {
    self.uri = uri
    self.port = port
    self.listeners = listeners
    self.connections = connections
    redirectURI = uri.text(port: port)
  }

  deinit {
    for descriptor in descriptors { credd_close(descriptor) }
  }

  /// The descriptors to wait for.
  var descriptors: [CInt] { listeners + visitors.map(\.descriptor) }

  /// When the first silent visitor is sent away.
  var deadline: Int64? { visitors.map(\.deadline).min() }

  // MARK: The sign-in

  /// Takes the sign-in that the daemon has begun.
  ///
  /// - Returns: the link with which the browser starts. It contains no secret of the sign-in, and
  ///   works only once and only for this user, because others can see the browser's arguments.
  func serve(_ step: BrowserStep) throws(Failure) -> String {
    var random = SystemRandomNumberGenerator()
    let digits = Hex.encode((0..<16).map { _ in UInt8.random(in: 0...255, using: &random) })
    let start = "/start/" + String(decoding: digits, as: UTF8.self)
    guard
      let back = BrowserReturn(
        redirectURI: step.redirectURI, state: step.state, start: Secret(start)),
      step.redirectURI == redirectURI
    else {
      throw Failure(
        .unavailable, "credd began the sign-in for another redirect URI than \(redirectURI)")
    }
    sign = Sign(back: back, url: step.url)
    return uri.url(ofPath: start, port: port)
  }

  /// Does the pending work: accepts, reads, and answers requests that change nothing.
  func work() -> [Event] {
    var events: [Event] = []
    for listener in listeners {
      // Others may connect without end: this user's browser is read in between.
      for _ in 0..<Self.acceptsAtOnce {
        guard let event = accept(listener) else { break }
        if let event { events.append(event) }
      }
    }
    for index in visitors.indices.reversed() {
      if let event = read(index) { events.append(event) }
    }
    let now = Clock.nanoseconds
    for index in visitors.indices.reversed() where visitors[index].deadline <= now {
      credd_close(visitors.remove(at: index).descriptor)
    }
    return events
  }

  /// Answers a visitor and ends the connection.
  static func answer(_ visitor: Visitor, _ page: BrowserPage) {
    answer(visitor.descriptor, page)
  }

  private static func answer(_ descriptor: CInt, _ page: BrowserPage) {
    let bytes = page.bytes
    // A page is smaller than the kernel's buffer of a connection that is being read.
    _ = unsafe bytes.withUnsafeBytes { unsafe credd_send(descriptor, $0.baseAddress, $0.count) }
    credd_finish_sending(descriptor)
    credd_close(descriptor)
  }

  /// - Returns: nil if no client waits; else an event, if there is one.
  private func accept(_ listener: CInt) -> Event?? {
    let descriptor = credd_accept(listener)
    guard descriptor >= 0 else { return nil }
    let uid = uid(of: descriptor)
    guard uid == geteuid() || uid == 0 else {
      Self.answer(descriptor, .stranger)
      // One warning for each user, so that others cannot fill the terminal.
      guard hasWarned.count < 64, hasWarned.insert(uid ?? UInt32.max).inserted else {
        return .some(nil)
      }
      return .stranger(uid: uid)
    }
    if visitors.count >= Self.mostVisitors { credd_close(visitors.removeFirst().descriptor) }
    visitors.append(
      Visitor(descriptor: descriptor, deadline: Clock.nanoseconds + Self.headTime))
    return .some(nil)
  }

  private func read(_ index: Int) -> Event? {
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    defer { buffer.wipe() }
    while true {
      let count = unsafe credd_read(visitors[index].descriptor, &buffer, buffer.count)
      if count == -Int(EAGAIN) { return nil }
      guard count > 0 else {
        credd_close(visitors.remove(at: index).descriptor)
        return nil
      }
      visitors[index].bytes += buffer[..<count]
      switch BrowserRequest.read(visitors[index].bytes) {
      case .needsMore: continue
      case .refused:
        Self.answer(visitors.remove(at: index), .refused)
        return nil
      case .request(let request): return take(request, visitors.remove(at: index))
      }
    }
  }

  private func take(_ request: BrowserRequest, _ visitor: Visitor) -> Event? {
    guard let sign else {
      Self.answer(visitor, .notFound)
      return nil
    }
    switch sign.back.meaning(of: request) {
    case .response(let query): return .response(query, visitor)
    case .start where !sign.isStarted:
      self.sign?.isStarted = true
      Self.answer(visitor, .redirect(to: sign.url))
    case .start, .other: Self.answer(visitor, .notFound)
    case .wrongHost: Self.answer(visitor, .wrongHost)
    case .wrongMethod: Self.answer(visitor, .wrongMethod)
    }
    return nil
  }

  // MARK: The kernel

  /// The user who made a connection; nil if the kernel does not say it, or if the other end is
  /// gone.
  private func uid(of connection: CInt) -> UInt32? {
    (try? connections.maker(of: connection).get())?.uid
  }
}

// MARK: Opening

extension BrowserListener {
  /// Why there is no listener.
  enum Trouble: Error {
    /// No redirect URI of the profile is on this host.
    case noLoopbackURI
    /// Other programs listen at all of them; with the users that the kernel names.
    case taken([(uri: String, uid: UInt32?)])
    /// The kernel does not say who connects.
    case noKernel(String)
    case system(String)
  }

  /// Listens at the first free redirect URI, before a browser is opened or the user is asked.
  static func open(_ redirectURIs: [String]) throws(Trouble) -> BrowserListener {
    let uris = redirectURIs.compactMap(LoopbackURI.init)
    guard !uris.isEmpty else { throw .noLoopbackURI }
    let netlink = credd_diag_socket()
    guard netlink >= 0 else { throw .noKernel(ErrorText.of(-netlink)) }
    let connections = LoopbackConnections(netlink)
    var taken: [(uri: String, uid: UInt32?)] = []
    for uri in uris {
      switch listen(uri) {
      case .success(let (port, listeners)):
        let listener = BrowserListener(uri, port, listeners, connections)
        try listener.checkKernel()
        return listener
      case .failure(let error) where error.number == EADDRINUSE:
        taken.append((uri.text(port: uri.port ?? 0), uri.port.flatMap { PortHolder.uid(at: $0) }))
      case .failure(let error):
        throw .system("cannot listen for \(uri.text(port: uri.port ?? 0)): \(error.text)")
      }
    }
    throw .taken(taken)
  }

  private struct SystemFailure: Error {
    let number: CInt
    var text: String { ErrorText.of(number) }
  }

  /// Listens on IPv4 and IPv6 for `localhost`: a browser may try either first, and another user
  /// could listen on the other one.
  private static func listen(
    _ uri: LoopbackURI
  ) -> Result<(UInt16, [CInt]), SystemFailure> {
    switch uri.host {
    case .ipv4(let b, let c, let d): listen([.ipv4(b, c, d)], uri.port)
    case .ipv6: listen([.ipv6], uri.port)
    case .localhost: listen([.ipv4(0, 0, 1), .ipv6], uri.port)
    }
  }

  private static func listen(
    _ hosts: [LoopbackURI.Host], _ port: UInt16?
  ) -> Result<(UInt16, [CInt]), SystemFailure> {
    // A port that is free in IPv4 may be taken in IPv6.
    for _ in 0..<(port == nil ? 16 : 1) {
      var listening = port ?? 0
      var listeners: [CInt] = []
      var failure: CInt = 0
      for host in hosts {
        let (descriptor, number) = listen(host, listening)
        if descriptor >= 0 {
          listeners.append(descriptor)
          listening = number
        } else if host == .ipv6, hosts.count > 1,
          [EADDRNOTAVAIL, EAFNOSUPPORT, ENOSYS].contains(-descriptor)
        {
          // A host without IPv6.
        } else {
          failure = -descriptor
        }
      }
      guard failure != 0 else { return .success((listening, listeners)) }
      listeners.forEach(credd_close)
      guard failure == EADDRINUSE, port == nil else {
        return .failure(SystemFailure(number: failure))
      }
    }
    return .failure(SystemFailure(number: EADDRINUSE))
  }

  private static func listen(
    _ host: LoopbackURI.Host, _ port: UInt16
  ) -> (descriptor: CInt, port: UInt16) {
    var name = credd_tcp_name()
    name.port = port
    if case .ipv4(let b, let c, let d) = host {
      name.ipv4 = (127, b, c, d)
    } else {
      name.is_ipv6 = true
    }
    let descriptor = unsafe credd_listen_loopback(&name, backlog)
    return (descriptor, name.port)
  }

  /// Asks the kernel who made one of credctl's own connections. If it cannot say that, users could
  /// not be distinguished.
  private func checkKernel() throws(Trouble) {
    guard let listener = listeners.first else { return }
    let trial = Self.connect(to: listener)
    defer { if trial >= 0 { credd_close(trial) } }
    guard trial >= 0 else { throw .noKernel("no connection to itself") }
    // A connection of another user may come first.
    for _ in 0..<Int(Self.backlog) {
      var entry = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
      guard unsafe poll(&entry, 1, 1000) > 0 else { break }
      let accepted = credd_accept(listener)
      guard accepted >= 0 else { continue }
      if uid(of: accepted) == geteuid() {
        credd_close(accepted)
        return
      }
      Self.answer(accepted, .stranger)
    }
    throw .noKernel("it does not name the user of a connection")
  }

  private static func connect(to listener: CInt) -> CInt {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return unsafe withUnsafeMutablePointer(to: &address) { storage in
      unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        guard unsafe getsockname(listener, pointer, &length) == 0 else { return -1 }
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let connection = socket(CInt(unsafe pointer.pointee.sa_family), type, 0)
        guard connection >= 0 else { return -1 }
        guard unsafe Glibc.connect(connection, pointer, length) == 0 else {
          close(connection)
          return -1
        }
        return connection
      }
    }
  }
}

extension BrowserListener.Trouble {
  /// The message for the user, with advice.
  var message: String {
    switch self {
    case .noLoopbackURI:
      "the profile has no redirect URI on this host, so that no browser comes back here"
    case .taken(let listeners):
      "other programs already listen where the browser would come back: "
        + listeners.map { listener in
          "\(listener.uri) (\(listener.uid.map { "uid \($0)" } ?? "unknown user"))"
        }.joined(separator: ", ") + "; end that program, or sign in with '--paste'"
    case .noKernel(let reason):
      "the kernel does not say who connects to credctl (\(reason)), so the browser's last address has "
        + "to be pasted: use '--paste'"
    case .system(let reason): reason + "; sign in with '--paste'"
    }
  }
}
