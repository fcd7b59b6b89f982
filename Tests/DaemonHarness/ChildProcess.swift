import CCallers
import Foundation
import Glibc
import Synchronization
import TestSupport

/// A process that a test started: its output goes to files, and it ends with the test.
final class ChildProcess: Sendable {
  let name: String
  let pid: pid_t
  let outputPath: String
  let errorPath: String
  /// Set once the process was reaped: its exit status, or 128 and the signal's number.
  private let ended = Mutex<Int32?>(nil)

  /// - Parameters:
  ///   - input: a file to read as standard input.
  ///   - descriptors: passed on as 3 and following.
  ///   - terminal: the terminal of a session of its own, in place of all three streams.
  init(
    _ arguments: [String], environment: [String: String] = [:], input: String = "/dev/null",
    descriptors: [Int32] = [], terminal: String? = nil
  ) throws {
    let stage = try Stage.current()
    name = URL(filePath: arguments[0]).lastPathComponent
    outputPath = stage.newFile(name + ".out")
    errorPath = stage.newFile(name + ".err")
    var environment = environment
    environment["PATH"] = environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
    // Where a sanitizer says what it found: see scripts/sanitize.
    for name in Sanitizer.variables {
      environment[name] = ProcessInfo.processInfo.environment[name]
    }
    pid = try Self.spawn(
      arguments, environment.map { "\($0.key)=\($0.value)" },
      terminal.map { [$0, $0, $0] } ?? [input, outputPath, errorPath], descriptors,
      flags: terminal == nil ? 0 : ccallers_spawn_in_session)
    stage.adopt(self)
  }

  var output: String { Self.text(outputPath) }
  var errors: String { Self.text(errorPath) }

  /// The exit status; nil while the process runs.
  var status: Int32? {
    ended.withLock { ended in
      if ended == nil {
        var status: Int32 = 0
        guard unsafe waitpid(pid, &status, WNOHANG) == pid else { return nil }
        ended = status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
      }
      return ended
    }
  }

  @discardableResult
  func wait(_ deadline: Deadline = .usual) throws -> Int32 {
    try deadline.wait(for: "the end of \(name)") { status != nil }
    return status ?? -1
  }

  func send(_ signal: Int32) {
    // Not reaped yet, so the pid is still its own.
    if status == nil { kill(pid, signal) }
  }

  /// Asks it to end, and makes it where it does not.
  func stop() {
    send(SIGTERM)
    do { try wait(.in(.seconds(10))) } catch {
      send(SIGKILL)
      _ = try? wait()
    }
  }

  private static func text(_ path: String) -> String {
    String(decoding: (try? Data(contentsOf: URL(filePath: path))) ?? Data(), as: UTF8.self)
  }

  /// - Parameters:
  ///   - streams: the files for standard input, output and error. A terminal that the leader of a new
  ///     session opens becomes that session's.
  ///   - flags: of posix_spawn, beside its own.
  private static func spawn(
    _ arguments: [String], _ environment: [String], _ streams: [String], _ descriptors: [Int32],
    flags: Int16
  ) throws -> pid_t {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for (number, path) in streams.enumerated() {
      let access = number == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_APPEND
      unsafe posix_spawn_file_actions_addopen(&actions, Int32(number), path, access, 0o644)
    }
    for (index, descriptor) in descriptors.enumerated() {
      unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, 3 + Int32(index))
    }
    // A thread of Dispatch has most signals blocked; a program starts with none.
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &signals)
    // A shell that starts `make test` in the background ignores these for it, and so would the child.
    var interrupt = sigset_t()
    unsafe sigemptyset(&interrupt)
    unsafe sigaddset(&interrupt, SIGINT)
    unsafe sigaddset(&interrupt, SIGQUIT)
    unsafe posix_spawnattr_setsigdefault(&attributes, &interrupt)
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | flags)
    var words = unsafe arguments.map { unsafe strdup($0) } + [nil]
    var variables = unsafe environment.map { unsafe strdup($0) } + [nil]
    defer {
      unsafe words.forEach { unsafe free($0) }
      unsafe variables.forEach { unsafe free($0) }
    }
    var pid: pid_t = 0
    let result = unsafe posix_spawn(
      &pid, arguments[0], &actions, &attributes, &words, &variables)
    guard result == 0 else { throw CallFailed("start \(arguments[0])", result) }
    return pid
  }
}

extension ChildProcess {
  /// The memory that it has now.
  var residentKilobytes: Int {
    get throws {
      let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
      guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
        let number = line.split(whereSeparator: \.isWhitespace).compactMap({ Int($0) }).first
      else { throw Overdue("the memory of \(name)") }
      return number
    }
  }
}
