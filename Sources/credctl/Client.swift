import CredCore
import CredctlKit
import Glibc

/// Sends requests to the daemon, each over a new connection.
struct Client {
  private let argument: String?

  init(socketArgument: String?) {
    argument = socketArgument
  }

  private func path(passingOverUser: Bool) -> SocketPath {
    SocketPath(
      argument: argument, environment: Environment.value(of:), exists: Self.exists,
      passesOverUser: passingOverUser)
  }

  private static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

  /// - Parameters:
  ///   - seconds: the time to connect, and again the time for the reply.
  ///   - secret: whether the request contains a secret, and which listeners may get it.
  ///   - terminal: a terminal in raw mode, at which Ctrl-C ends the wait; -1 for none.
  func ask(
    _ request: consuming [UInt8], for shape: ReplyShape, profile: String? = nil,
    seconds: Int = WaitLimits.margin, secret: SecretDelivery = .none, watching terminal: CInt = -1
  ) throws(Failure) -> Answer {
    defer { request.wipe() }
    return try askOnce(
      request, for: shape, profile: profile, seconds: seconds, secret, watching: terminal)
  }

  /// Sends a request that may be sent twice. If a daemon restarts or crashes, some clients get no
  /// reply: they ask the next daemon, and wait for it in systemd's socket.
  func askAcrossRestart(
    _ request: consuming [UInt8], for shape: ReplyShape, profile: String?, seconds: Int
  ) throws(Failure) -> Answer {
    defer { request.wipe() }
    return try acrossRestart(seconds: seconds) { left throws(Failure) in
      try askOnce(request, for: shape, profile: profile, seconds: left)
    }
  }

  /// Asks for credentials.
  func credentials(_ options: GetOptions) throws(Failure) -> Answer {
    try askAcrossRestart(
      options.request, for: .credentials, profile: options.profile,
      seconds: options.waiting.timeout)
  }

  /// Asks for credentials and then for the identity, in one exchange.
  ///
  /// - Returns: nil for the identity if it did not come; the credentials are good without it.
  func askForBoth(
    _ request: consuming [UInt8], and identity: [UInt8], profile: String, seconds: Int
  ) throws(Failure) -> (credentials: JSONValue, identity: JSONValue?) {
    request += identity
    defer { request.wipe() }
    return try acrossRestart(seconds: seconds) { left throws(Failure) in
      let buffer = ReplyBuffer()
      let connection = try send(request, firstReplyInto: buffer, seconds: left)
      let credentials = try Reply.check(buffer.line, has: .credentials, profile: profile)
      buffer.removeLine()
      guard (try? connection.receiveLine(into: buffer, seconds: WaitLimits.margin)) != nil else {
        return (credentials, nil)
      }
      return (credentials, try? Reply.check(buffer.line, has: .session, profile: profile))
    }
  }

  private func acrossRestart<Result>(
    seconds: Int, _ attempt: (_ secondsLeft: Int) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // In nanoseconds, because dividing `Duration` would load 128-bit arithmetic at every `get`.
    let end = Clock.nanoseconds + Int64(seconds) * 1_000_000_000
    var lastEnd: Failure?
    var daemons = 1
    while true {
      let left = Int((end - Clock.nanoseconds) / 1_000_000_000) + 1
      do throws(Failure) {
        return try attempt(left)
      } catch {
        // A daemon that ran a moment ago may come back, so it does not count as absent.
        if error.isAbsenceOfDaemon, let lastEnd { throw lastEnd }
        guard error.isEndOfDaemon, daemons < WaitLimits.daemonsAsked, Clock.nanoseconds < end else {
          throw error
        }
        lastEnd = error
        daemons += 1
      }
    }
  }

  private func askOnce(
    _ request: [UInt8], for shape: ReplyShape, profile: String?, seconds: Int,
    _ secret: SecretDelivery = .none, watching terminal: CInt = -1
  ) throws(Failure) -> Answer {
    let buffer = ReplyBuffer()
    _ = try send(
      request, firstReplyInto: buffer, seconds: seconds, secret, watching: terminal)
    return Answer(buffer, reply: try Reply.check(buffer.line, has: shape, profile: profile))
  }

  /// Asks for a stream of lines and handles each, until something fails or the reader of standard
  /// output is gone.
  func follow(
    _ request: consuming [UInt8], for shape: ReplyShape, profile: String?,
    _ handle: (Answer) throws(Failure) -> Void
  ) throws(Failure) {
    defer { request.wipe() }
    let buffer = ReplyBuffer()
    // The present state comes at once. After that, the daemon may be silent for ever.
    let connection = try send(request, firstReplyInto: buffer, seconds: WaitLimits.margin)
    while true {
      let reply = try Reply.check(buffer.line, has: shape, profile: profile)
      do throws(Failure) {
        try handle(Answer(buffer, reply: reply))
        buffer.removeLine()
        try receive(into: buffer, from: connection)
      } catch {
        if error == .outputClosed { return }
        throw error
      }
    }
  }

  /// Reads the next line of a stream, whenever it comes.
  private func receive(
    into buffer: ReplyBuffer, from connection: borrowing ControlSocket
  ) throws(Failure) {
    do {
      try connection.receiveLine(into: buffer, seconds: nil)
    } catch {
      throw Failure(error, at: connection.path)
    }
  }

  private func send(
    _ request: [UInt8], firstReplyInto buffer: ReplyBuffer, seconds: Int,
    _ secret: SecretDelivery = .none, watching terminal: CInt = -1
  ) throws(Failure) -> ControlSocket {
    let connection = try connect(seconds: seconds, secret)
    do {
      try connection.send(request, seconds: seconds)
      try connection.receiveLine(into: buffer, seconds: seconds, watching: terminal)
    } catch {
      throw Failure(error, at: connection.path)
    }
    return connection
  }

  /// Connects, and asks the kernel who listens before it sends anything.
  private func connect(seconds: Int, _ secret: SecretDelivery) throws(Failure) -> ControlSocket {
    var attemptsLeft = SocketWait.attempts
    var passesOverUser = false
    while true {
      let path = path(passingOverUser: passesOverUser)
      var refusal: Failure?
      do throws(TransportError) {
        let connection = try ControlSocket(connectingTo: path, seconds: seconds)
        switch try connection.listener().judgement(of: path, secret) {
        case .send: return connection
        case .passOver: passesOverUser = true
        case .refuse(let failure): refusal = failure
        }
      } catch {
        guard error == .noListener, attemptsLeft > 0,
          SocketPath.mayAppear(
            argument: argument, environment: Environment.value(of:), exists: Self.exists)
        else { throw Failure(error, at: path) }
        attemptsLeft -= 1
        usleep(UInt32(SocketWait.milliseconds * 1000))
      }
      if let refusal { throw refusal }
    }
  }
}

/// A reply of the right shape: the daemon's bytes and their JSON value.
struct Answer {
  let reply: JSONValue
  private let buffer: ReplyBuffer

  init(_ buffer: ReplyBuffer, reply: JSONValue) {
    self.buffer = buffer
    self.reply = reply
  }

  /// Prints the daemon's own line, byte by byte.
  func print() throws(Failure) {
    try StandardStream.output.write(buffer.lineWithNewline)
  }

  /// The daemon's version and process.
  var daemon: String { DaemonLine(reply["Daemon"]).text }

  /// The state of a session, and who is signed in.
  var session: String { SignedInText.line(reply) }

  /// How many waiting callers `release` ended.
  var released: Int64 { reply["Released"]?.integer ?? 0 }

  /// A text of several lines.
  func lines(of name: String) -> String {
    (reply[name]?.text ?? "").split(separator: "\n").map { PlainText.oneLine(String($0)) + "\n" }
      .joined()
  }

  func text(_ name: String) -> String { PlainText.oneLine(reply[name]?.text ?? "-") }
}

/// The host's clocks.
enum Clock {
  /// The time since boot, for deadlines.
  static var nanoseconds: Int64 {
    let time = read(CLOCK_BOOTTIME)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// The time of day, for people.
  static var wallTime: WallTime {
    let time = read(CLOCK_REALTIME)
    return WallTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }

  private static func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return time
  }
}
