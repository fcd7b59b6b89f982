import CredCore

/// The programs of connected processes. Their files may be large and on slow disks, so they are
/// looked at in the background. The path comes first. The content is read only if the configuration
/// names the path with a digest, and once for each state of the file.
///
/// Each user has a queue. Users are served round robin, and no user takes every thread: the programs of one
/// user delay no other user.
final class ExecutableDirectory {
  /// The time for an answer, including the wait for a thread.
  static let timeout: Duration = .seconds(5)
  /// How long an answer is valid: after that, the process may run another program.
  static let keptFor: Duration = .seconds(60)
  /// Threads that one user's programs may take.
  static let threadsPerUser = BackgroundLane.programs.width / 2
  /// The number of kept digests: more than any configuration names.
  static let digestsKept = 1024
  /// How often late questions are looked for, at most.
  private static let expiryInterval: Duration = .milliseconds(100)

  /// The look-up of a process's program, for all clients of the process.
  private final class LookUp {
    let uid: UInt32
    let pid: Int32
    /// Files with such paths are hashed.
    let digestPaths: [GlobPattern]
    var clients: [UInt64]
    var path = ""
    /// Nil until the program is found.
    var file: ProgramFile?
    /// Whether its thread has missed its deadline.
    var hangs = false

    init(_ uid: UInt32, _ pid: Int32, _ digestPaths: [GlobPattern], for client: UInt64) {
      self.uid = uid
      self.pid = pid
      self.digestPaths = digestPaths
      clients = [client]
    }
  }

  private struct Question {
    let lookUp: LookUp
    let deadline: Instant
    let then: (ExecutableAnswer) -> Void
  }

  /// The threads that look-ups occupy.
  private struct Threads {
    var taken = 0
    /// Threads among them that missed their deadline.
    var hanging = 0
  }

  private let clock: any Clock
  private let background: any Background
  private let queries: any HostQueries
  private var timer: (any Timer)?
  private var isTimerArmed = false
  /// By client.
  private var questions: [UInt64: Question] = [:]
  /// Look-ups that have not begun, by user.
  private var queues: [UInt32: [LookUp]] = [:]
  /// Users with a queue; the first one is served next.
  private var order: [UInt32] = []
  private var threads = Threads()
  private var threadsOfUser: [UInt32: Threads] = [:]
  /// Look-ups that wait for a file's digest; the first one has the thread.
  private var hashing: [ProgramFile: [LookUp]] = [:]
  private var digests: [ProgramFile: String] = [:]

  init(clock: any Clock, background: any Background, queries: any HostQueries) {
    self.clock = clock
    self.background = background
    self.queries = queries
    timer = clock.makeTimer { [unowned self] in self.expire() }
  }

  /// Finds the program of a client's process. If it returns nil, `then` is called later, unless the
  /// client is forgotten. The caller must check that the process has not ended meanwhile.
  func ask(
    _ client: UInt64, uid: UInt32, pid: Int32, digestPaths: [GlobPattern], now: Instant,
    then: @escaping (ExecutableAnswer) -> Void
  ) -> ExecutableAnswer? {
    let own = threadsOfUser[uid] ?? Threads()
    guard own.hanging < Self.threadsPerUser, threads.hanging < BackgroundLane.programs.width else {
      return .overdue
    }
    let lookUp: LookUp
    if let queued = queues[uid]?.first(where: { $0.pid == pid && $0.digestPaths == digestPaths }) {
      lookUp = queued
      lookUp.clients.append(client)
    } else {
      guard (queues[uid]?.count ?? 0) < Limits.Client.queuedPrograms else { return .crowded }
      lookUp = LookUp(uid, pid, digestPaths, for: client)
      if queues[uid] == nil { order.append(uid) }
      queues[uid, default: []].append(lookUp)
    }
    questions[client] = Question(lookUp: lookUp, deadline: now + Self.timeout, then: then)
    startNext()
    armTimer(now)
    return nil
  }

  /// Drops the question of a client that has disconnected.
  func forget(_ client: UInt64) {
    guard let lookUp = questions.removeValue(forKey: client)?.lookUp else { return }
    lookUp.clients.removeAll { $0 == client }
    guard lookUp.clients.isEmpty else { return }
    queues[lookUp.uid]?.removeAll { $0 === lookUp }
    if queues[lookUp.uid]?.isEmpty == true {
      queues[lookUp.uid] = nil
      order.removeAll { $0 == lookUp.uid }
    }
    // The first one has the thread.
    guard let file = lookUp.file, hashing[file]?.first !== lookUp else { return }
    hashing[file]?.removeAll { $0 === lookUp }
  }

  // MARK: Threads

  private func startNext() {
    var passed = 0
    while threads.taken < BackgroundLane.programs.width, passed < order.count {
      let uid = order.removeFirst()
      guard (threadsOfUser[uid]?.taken ?? 0) < Self.threadsPerUser else {
        order.append(uid)
        passed += 1
        continue
      }
      guard let lookUp = queues[uid]?.removeFirst() else { continue }
      if queues[uid]?.isEmpty == true { queues[uid] = nil } else { order.append(uid) }
      passed = 0
      take(lookUp)
      findProgram(lookUp)
    }
  }

  private func take(_ lookUp: LookUp) {
    threads.taken += 1
    threadsOfUser[lookUp.uid, default: Threads()].taken += 1
  }

  private func release(_ lookUp: LookUp) {
    setHanging(lookUp, false)
    threads.taken -= 1
    threadsOfUser[lookUp.uid]?.taken -= 1
    if threadsOfUser[lookUp.uid]?.taken == 0 { threadsOfUser[lookUp.uid] = nil }
  }

  private func setHanging(_ lookUp: LookUp, _ hangs: Bool) {
    guard lookUp.hangs != hangs else { return }
    lookUp.hangs = hangs
    threads.hanging += hangs ? 1 : -1
    threadsOfUser[lookUp.uid]?.hanging += hangs ? 1 : -1
  }

  // MARK: The path

  private func findProgram(_ lookUp: LookUp) {
    background.run(.programs, deadline: clock.now + Self.timeout) { [queries, pid = lookUp.pid] in
      queries.program(of: pid)
    } completion: { [weak self] outcome in
      guard let self else { return }
      switch outcome {
      case .overdue(isRunning: true): setHanging(lookUp, true)
      case .overdue(isRunning: false): end(lookUp, .overdue)
      case .finished(.unknown(let reason)): end(lookUp, .unknown(reason))
      case .finished(.program(let path, let file)):
        setHanging(lookUp, false)
        lookUp.path = path
        lookUp.file = file
        found(file, lookUp)
      }
    }
  }

  private func found(_ file: ProgramFile, _ lookUp: LookUp) {
    guard !lookUp.clients.isEmpty, lookUp.digestPaths.contains(where: { $0.matches(lookUp.path) })
    else { return end(lookUp, .executable(.init(path: lookUp.path))) }
    if let digest = digests[file] {
      end(lookUp, .executable(.init(path: lookUp.path, sha256: digest)))
    } else if hashing[file] != nil {
      hashing[file]?.append(lookUp)
      release(lookUp)
      startNext()
    } else {
      hashing[file] = [lookUp]
      hash(file, lookUp)
    }
  }

  /// Ends a look-up that has a thread.
  private func end(_ lookUp: LookUp, _ answer: ExecutableAnswer) {
    release(lookUp)
    self.answer(lookUp, answer)
    startNext()
  }

  // MARK: The content

  private func hash(_ file: ProgramFile, _ lookUp: LookUp) {
    background.run(.programs, deadline: clock.now + Self.timeout) { [queries, pid = lookUp.pid] in
      queries.digest(of: file, runBy: pid)
    } completion: { [weak self] outcome in
      guard let self else { return }
      switch outcome {
      case .overdue(isRunning: true): setHanging(lookUp, true)
      case .overdue(isRunning: false): hashed(file, lookUp, nil, .overdue)
      case .finished(.digest(let digest)):
        if digests.count >= Self.digestsKept { digests = [:] }
        digests[file] = digest
        hashed(file, lookUp, digest, nil)
      case .finished(.unknown(let reason)): hashed(file, lookUp, nil, .unknown(reason))
      }
    }
  }

  /// - Parameter failure: concerns the process that was asked about. Another process with the same
  ///   file may still live, and is asked next.
  private func hashed(
    _ file: ProgramFile, _ lookUp: LookUp, _ digest: String?, _ failure: ExecutableAnswer?
  ) {
    release(lookUp)
    var waiting = hashing.removeValue(forKey: file) ?? []
    if let failure {
      waiting.removeAll { $0 === lookUp || $0.clients.isEmpty }
      if let next = waiting.first {
        hashing[file] = waiting
        take(next)
        hash(file, next)
      }
      answer(lookUp, failure)
    } else {
      for other in waiting {
        answer(other, .executable(.init(path: other.path, sha256: digest)))
      }
    }
    startNext()
  }

  // MARK: Answers

  private func answer(_ lookUp: LookUp, _ answer: ExecutableAnswer) {
    let clients = lookUp.clients
    lookUp.clients = []
    for client in clients { questions.removeValue(forKey: client)?.then(answer) }
  }

  /// Ends questions that were not answered in time. Their threads may go on.
  private func expire() {
    isTimerArmed = false
    let now = clock.now
    let late = questions.filter { $0.value.deadline <= now }.keys.sorted()
    for client in late {
      let question = questions[client]
      forget(client)
      question?.then(.overdue)
    }
    armTimer(now)
  }

  private func armTimer(_ now: Instant) {
    guard !isTimerArmed, let next = questions.values.lazy.map(\.deadline).min() else { return }
    isTimerArmed = true
    timer?.arm(at: max(next, now + Self.expiryInterval))
  }
}
