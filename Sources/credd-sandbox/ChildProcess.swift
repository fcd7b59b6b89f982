import FoundationEssentials
import Glibc

/// The reason why the demonstration ends early.
struct DemoError: Error, CustomStringConvertible {
  let description: String
  /// Whether a signal has ended it.
  var isInterruption = false
}

/// The signals that the demonstration blocks and waits for: the end of a child, and those that ask
/// it to end.
@safe struct AwaitedSignals {
  private var set = sigset_t()

  init() {
    unsafe sigemptyset(&set)
    for signal in [SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT] { unsafe sigaddset(&set, signal) }
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    // If a reader closes the output, as head does, the daemons must still be stopped.
    signal(SIGPIPE, SIG_IGN)
  }

  /// The next signal; nil if none comes in time.
  func next(within time: Duration) -> Int32? {
    var set = set
    let (seconds, attoseconds) = time.components
    var limit = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    let signal = unsafe sigtimedwait(&set, nil, &limit)
    return signal > 0 ? signal : nil
  }

  /// Returns when a child ends, or after the time. Throws if the demonstration must end.
  func pause(_ time: Duration) throws(DemoError) {
    guard let signal = next(within: max(time, .zero)), signal != SIGCHLD else { return }
    throw DemoError(description: "interrupted", isInterruption: true)
  }
}

/// A process that the demonstration started. Its output goes to files.
final class ChildProcess {
  private let pid: pid_t
  private let name: String
  private let outputPath: String
  private let errorPath: String
  private let signals: AwaitedSignals
  /// Set once the process was reaped: its exit status, or 128 and the signal's number.
  private var ended: Int32?

  /// - Parameter folder: the folder for the files of its output.
  init(
    _ command: [String], environment: [String: String], folder: String, signals: AwaitedSignals
  ) throws(DemoError) {
    name = URL(filePath: command[0]).lastPathComponent
    outputPath = "\(folder)/\(name).out"
    errorPath = "\(folder)/\(name).err"
    self.signals = signals
    pid = try ChildProcess.spawn(
      command, environment.map { "\($0.key)=\($0.value)" },
      [("/dev/null", O_RDONLY), (outputPath, O_WRONLY), (errorPath, O_WRONLY)])
  }

  var output: String { ChildProcess.text(outputPath) }

  /// Waits until `isDone` is true. Throws if the process ends before that, or if the time is over.
  func wait(
    for what: String, within limit: Duration, until isDone: () throws(DemoError) -> Bool
  ) throws(DemoError) {
    let end = ContinuousClock.now + limit
    while try !isDone() {
      guard status == nil else { throw failure("ended before \(what)") }
      guard .now < end else { throw failure("is late: \(what)") }
      try signals.pause(.milliseconds(10))
    }
  }

  /// Waits until the process ends with success.
  func succeed(within limit: Duration) throws(DemoError) {
    let end = ContinuousClock.now + limit
    while status == nil {
      guard .now < end else { throw failure("does not end") }
      try signals.pause(ContinuousClock.now.duration(to: end))
    }
    guard status == 0 else { throw failure("failed") }
  }

  func expectRunning() throws(DemoError) {
    guard status == nil else { throw failure("ended by itself") }
  }

  /// Asks the process to end, and kills it if it does not.
  func stop() {
    for (signal, patience) in [(SIGTERM, Duration.seconds(3)), (SIGKILL, .seconds(3))] {
      guard status == nil else { return }
      kill(pid, signal)
      let end = ContinuousClock.now + patience
      // A second Ctrl-C does not prevent that the other processes are stopped.
      while status == nil, .now < end { _ = signals.next(within: .milliseconds(50)) }
    }
  }

  private var status: Int32? {
    if ended == nil {
      var status: Int32 = 0
      guard unsafe waitpid(pid, &status, WNOHANG) == pid else { return nil }
      ended = status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    }
    return ended
  }

  private func failure(_ what: String) -> DemoError {
    let said = ChildProcess.text(errorPath)
    return DemoError(description: "\(name) \(what)" + (said.isEmpty ? "" : ":\n\(said)"))
  }

  private static func text(_ path: String) -> String {
    String(decoding: (try? Data(contentsOf: URL(filePath: path))) ?? Data(), as: UTF8.self)
  }

  /// The process has its own group, so that Ctrl-C reaches only the demonstration, which stops its
  /// processes in order.
  private static func spawn(
    _ command: [String], _ environment: [String], _ streams: [(path: String, flags: Int32)]
  ) throws(DemoError) -> pid_t {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for (number, stream) in streams.enumerated() {
      let flags = stream.flags == O_RDONLY ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC
      unsafe posix_spawn_file_actions_addopen(
        &actions, Int32(number), stream.path, flags, 0o600)
    }
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    unsafe sigemptyset(&none)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    var ignored = none
    for signal in [SIGPIPE, SIGXFSZ] { unsafe sigaddset(&ignored, signal) }
    unsafe posix_spawnattr_setsigdefault(&attributes, &ignored)
    unsafe posix_spawnattr_setpgroup(&attributes, 0)
    unsafe posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
    var words = unsafe command.map { unsafe strdup($0) } + [nil]
    var variables = unsafe environment.map { unsafe strdup($0) } + [nil]
    defer {
      unsafe words.forEach { unsafe free($0) }
      unsafe variables.forEach { unsafe free($0) }
    }
    var pid: pid_t = 0
    let result = unsafe posix_spawn(&pid, command[0], &actions, &attributes, &words, &variables)
    guard result == 0 else {
      throw DemoError(
        description: "cannot start \(command[0]): \(unsafe String(cString: strerror(result)))")
    }
    return pid
  }
}
