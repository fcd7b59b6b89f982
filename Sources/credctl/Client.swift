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

  /// Whether it asks the system's credd, not a credd of the user or one that was named.
  var isOfSystem: Bool { path(passingOverUser: false).origin == .system }

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

  /// The same for a request that may be sent twice. A daemon that restarts or crashes leaves some
  /// clients without a reply: they ask the next daemon, and wait for it in systemd's socket. Where this
  /// user has too many connections, the request asks again within its wait.
  ///
  /// - Parameters:
  ///   - seconds: nil for the wait and a margin.
  ///   - request: with the wait that is left.
  func askAgain(
    for shape: ReplyShape, profile: String?, waiting: Waiting, seconds: Int? = nil,
    _ request: (Waiting) -> [UInt8]
  ) throws(Failure) -> Answer {
    try persistently(waiting, seconds ?? waiting.timeout) { waiting, left throws(Failure) in
      var bytes = request(waiting)
      defer { bytes.wipe() }
      return try askOnce(bytes, for: shape, profile: profile, seconds: left)
    }
  }

  /// Asks for the profiles that are open to the caller. A socket with a cap has no `status`: there `ping`
  /// names them.
  func profiles(seconds: Int = WaitLimits.margin) throws(Failure) -> Answer {
    var request = RequestLine(operation: "status")
    request.add("profiles", true)
    do throws(Failure) {
      return try ask(request.finished(), for: .profiles, seconds: seconds)
    } catch {
      guard error.code == ProtocolErrorCode.accessDenied.rawValue,
        let answer = try? ask(
          RequestLine(operation: "ping").finished(), for: .profiles, seconds: seconds)
      else { throw error }
      return answer
    }
  }

  /// Asks for credentials.
  func credentials(_ options: GetOptions) throws(Failure) -> Answer {
    try askAgain(for: .credentials, profile: options.profile, waiting: options.waiting) {
      options.request(waiting: $0)
    }
  }

  /// Asks for credentials and then for the identity, in one exchange.
  ///
  /// - Returns: nil for the identity if it did not come; the credentials are good without it.
  func askForBoth(
    _ options: GetOptions
  ) throws(Failure) -> (credentials: JSONValue, identity: JSONValue?) {
    let (profile, named) = (options.profile, options.named)
    return try persistently(options.waiting, options.waiting.timeout) {
      waiting, left throws(Failure) in
      var request = options.request(waiting: waiting)
      request += RequestLine(operation: "identity", profile: named).finished()
      defer { request.wipe() }
      let buffer = ReplyBuffer()
      let connection = try send(request, firstReplyInto: buffer, seconds: left)
      let credentials = try check(buffer, has: .credentials, profile, from: connection.path)
      buffer.removeLine()
      guard (try? connection.receiveLine(into: buffer, seconds: WaitLimits.margin)) != nil else {
        return (credentials, nil)
      }
      return (credentials, try? Reply.check(buffer.line, has: .session, profile: profile))
    }
  }

  /// The identity pool's region for programs that find no other, as `exec` sets it: an IdentityId begins
  /// with it. A session that was never used has no IdentityId; credentials bring it.
  ///
  /// - Returns: nil where the environment has a region, and where none is known.
  func region(for options: GetOptions) -> String? {
    guard !CredentialVariables.hasRegion(Environment.value(of:)) else { return nil }
    let known = try? ask(
      RequestLine(operation: "identity", profile: options.named).finished(), for: .session,
      profile: options.profile)
    if let region = known.flatMap({ CredentialVariables.region(ofIdentity: $0.reply) }) {
      return region
    }
    var asked = GetOptions(profile: options.named)
    asked.waiting.wait = WaitLimits.firstIdentity
    let identity = (try? askForBoth(asked))?.identity
    guard let region = identity.flatMap(CredentialVariables.region(ofIdentity:)) else {
      StandardStream.error.report(
        "credctl: the region of profile '\(options.profile)' is not known so far: set AWS_REGION\n")
      return nil
    }
    return region
  }

  /// A request that is answered at once needs nothing of what comes after a failure.
  private func persistently<Result>(
    _ waiting: Waiting, _ seconds: Int,
    _ attempt: (Waiting, _ secondsLeft: Int) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let begun = Clock.nanoseconds
    do throws(Failure) {
      return try attempt(waiting, seconds)
    } catch {
      return try goOn(after: error, since: begun, waiting, seconds, attempt)
    }
  }

  private func goOn<Result>(
    after first: Failure, since begun: Int64, _ waiting: Waiting, _ seconds: Int,
    _ attempt: (Waiting, _ secondsLeft: Int) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var policy = RetryPolicy(waiting, seconds: seconds)
    var random = SystemRandomNumberGenerator()
    var failure = first
    while true {
      // In nanoseconds: dividing `Duration` would load 128-bit arithmetic.
      let passed = Int((Clock.nanoseconds - begun) / 1_000_000)
      switch policy.step(after: failure, milliseconds: passed, &random) {
      case .giveUp(let reason): throw reason
      case .again(let pause, let waiting):
        usleep(UInt32(pause * 1000))
        do throws(Failure) {
          return try attempt(waiting, max(seconds - (passed + pause) / 1000, 1))
        } catch {
          failure = error
        }
      }
    }
  }

  private func askOnce(
    _ request: [UInt8], for shape: ReplyShape, profile: String?, seconds: Int,
    _ secret: SecretDelivery = .none, watching terminal: CInt = -1
  ) throws(Failure) -> Answer {
    let buffer = ReplyBuffer()
    let connection = try send(
      request, firstReplyInto: buffer, seconds: seconds, secret, watching: terminal)
    let path = connection.path
    return Answer(
      buffer, reply: try check(buffer, has: shape, profile, from: path),
      hidden: path.hiddenSystem(exists: Self.exists))
  }

  /// A refusal of a profile says which credd refused it, where there are two.
  private func check(
    _ buffer: ReplyBuffer, has shape: ReplyShape, _ profile: String?, from path: SocketPath
  ) throws(Failure) -> JSONValue {
    do throws(Failure) {
      return try Reply.check(buffer.line, has: shape, profile: profile)
    } catch {
      throw error.answered(at: path, exists: Self.exists)
    }
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
      let reply = try check(buffer, has: shape, profile, from: connection.path)
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

  private static var surroundings: Surroundings {
    Surroundings(environment: Environment.value(of:), exists: exists)
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
        else { throw Failure(error, at: path, in: Self.surroundings) }
        attemptsLeft -= 1
        usleep(UInt32(SocketWait.milliseconds * 1000))
      }
      if let refusal { throw refusal }
    }
  }
}
