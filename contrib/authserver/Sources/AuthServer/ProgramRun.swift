import AuthCore
import CSpawn
import Dispatch
import FoundationEssentials
import Glibc

/// One run of a program that prints something.
struct ProgramRun {
  let isSuccess: Bool
  let output: String
  let errors: String

  /// Why there is no result.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// - Parameter command: a path, and arguments. It gets an environment of its own, none of this
  ///   program's capabilities, and no input.
  static func of(_ command: [String], within time: Interval, upTo limit: Int) async throws -> Self {
    let outcome = await withCheckedContinuation { continuation in
      // It blocks: on a thread of Dispatch's.
      DispatchQueue.global().async {
        continuation.resume(
          returning: Result {
            var process = try RunningProgram(command, limit)
            return try process.finish(within: time)
          })
      }
    }
    return try outcome.get()
  }
}

/// A program that runs, in a process group of its own, with what it has printed so far.
private struct RunningProgram: ~Copyable {
  private let pid: pid_t
  private let limit: Int
  /// The ends of two pipes: its output and its errors. -1 where it has closed one.
  private var pipes: [Int32] = []
  private var texts: [[UInt8]] = [[], []]
  private var hasEnded = false

  init(_ command: [String], _ limit: Int) throws {
    self.limit = limit
    var ends: [Int32] = []
    for _ in 0..<2 {
      var pair: [Int32] = [-1, -1]
      guard unsafe pipe(&pair) == 0 else {
        for end in ends { close(end) }
        throw ProgramRun.Failure(description: "no pipe: \(SystemError.last)")
      }
      ends += pair
    }
    let (code, pid) = spawn(command, output: ends[1], errors: ends[3])
    close(ends[1])
    close(ends[3])
    guard code == 0 else {
      close(ends[0])
      close(ends[2])
      throw ProgramRun.Failure(description: "it cannot be started: \(SystemError(code))")
    }
    self.pid = pid
    pipes = [ends[0], ends[2]]
  }

  deinit {
    for end in pipes where end >= 0 { close(end) }
    guard !hasEnded else { return }
    _ = kill(-pid, SIGKILL)
    _ = waitpid(pid, nil, 0)
  }

  mutating func finish(within time: Interval) throws -> ProgramRun {
    let end = ContinuousClock.now + .milliseconds(time.milliseconds)
    while pipes.contains(where: { $0 >= 0 }) { try readSome(until: end) }
    let status = try waitForEnd(until: end)
    let texts = texts.map { String(decoding: $0, as: UTF8.self) }
    return ProgramRun(isSuccess: status == 0, output: texts[0], errors: texts[1])
  }

  /// Its output has ended, and so will it.
  private mutating func waitForEnd(until end: ContinuousClock.Instant) throws -> Int32 {
    var status: Int32 = 0
    while true {
      switch unsafe waitpid(pid, &status, WNOHANG) {
      case pid:
        hasEnded = true
        return status
      case -1 where errno != EINTR:
        // It is nobody's child of ours any more, and its number may be another's.
        hasEnded = true
        throw ProgramRun.Failure(description: "nobody knows how it ended: \(SystemError.last)")
      default:
        _ = try Self.left(until: end)
        usleep(2000)
      }
    }
  }

  private static func left(until end: ContinuousClock.Instant) throws -> Int32 {
    let left = (end - ContinuousClock.now) / .milliseconds(1)
    guard left > 0 else { throw ProgramRun.Failure(description: "it took too long") }
    return Int32(left.rounded(.up))
  }

  private mutating func readSome(until end: ContinuousClock.Instant) throws {
    var ready = pipes.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    guard unsafe poll(&ready, nfds_t(ready.count), try Self.left(until: end)) > 0 else { return }
    for index in pipes.indices where ready[index].revents != 0 {
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = unsafe read(pipes[index], &bytes, bytes.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        close(pipes[index])
        pipes[index] = -1
        continue
      }
      texts[index] += bytes.prefix(count)
      guard texts[index].count <= limit else {
        throw ProgramRun.Failure(description: "it prints more than \(limit) bytes")
      }
    }
  }
}

/// - Returns: an error's number, or 0, and the process.
private func spawn(
  _ command: [String], output: Int32, errors: Int32
) -> (code: Int32, pid: pid_t) {
  var actions = unsafe posix_spawn_file_actions_t()
  _ = unsafe posix_spawn_file_actions_init(&actions)
  defer { _ = unsafe posix_spawn_file_actions_destroy(&actions) }
  _ = unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
  _ = unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
  _ = unsafe posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO)
  // NIO's sockets are not closed by themselves.
  _ = unsafe auth_close_from(&actions, STDERR_FILENO + 1)
  var attributes = posix_spawnattr_t()
  _ = unsafe posix_spawnattr_init(&attributes)
  defer { _ = unsafe posix_spawnattr_destroy(&attributes) }
  // A group of its own, so that what it starts ends with it; and signals as a program expects them.
  var signals = sigset_t()
  _ = unsafe sigemptyset(&signals)
  _ = unsafe posix_spawnattr_setsigmask(&attributes, &signals)
  for signal in [SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGCHLD, SIGXFSZ] {
    _ = unsafe sigaddset(&signals, signal)
  }
  _ = unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
  let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
  _ = unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
  // This program's own may have AWS keys and a database's password.
  let variables = ["PATH=/usr/local/bin:/usr/bin:/bin"]
  var pid: pid_t = 0
  let refusal = auth_give_no_capabilities()
  guard refusal == 0 else { return (refusal, 0) }
  let code = unsafe withCStrings(command) { arguments in
    unsafe withCStrings(variables) { variables in
      unsafe posix_spawn(&pid, command[0], &actions, &attributes, arguments, variables)
    }
  }
  return (code, pid)
}
