internal import CLinux
internal import CredCore
internal import Glibc

/// Runs the commands of `exec` backends: no shell, a clean environment, a process group of its own,
/// a deadline after which the group is killed, bounded output.
final class CommandRunner {
  private let loop: EventLoop
  /// By pid, until the process is reaped: so long the pid is not another one's.
  private var runs: [Int32: CommandRun] = [:]

  init(loop: EventLoop) {
    self.loop = loop
  }

  /// Commands that run, or were given up on and still have to die.
  var underway: Int { runs.count }

  /// - Parameter arguments: the absolute path first.
  func run(
    _ arguments: [String], environment: [(name: String, value: Secret)], input: Secret,
    timeout: Duration
  ) async -> ExecOutcome {
    runs.values.forEach { $0.reapIfUnwatched() }
    var child = credd_child()
    let variables = environment.map { variable in
      Array("\(variable.name)=".utf8) + variable.value.bytes + [0]
    }
    let result = unsafe Self.withCStrings(arguments.map { Array($0.utf8) + [0] }) { arguments in
      unsafe Self.withCStrings(variables) { environment in
        unsafe credd_spawn(arguments, environment, &child)
      }
    }
    guard result == 0 else { return ExecOutcome(ending: .notStarted) }
    return await withCheckedContinuation { continuation in
      let pid = child.pid
      let run = CommandRun(
        child, input: input, loop: loop, done: { continuation.resume(returning: $0) },
        reaped: { [weak self] in self?.runs[pid] = nil })
      runs[pid] = run
      run.start(timeout: timeout)
    }
  }

  /// A NULL-terminated array of C strings, valid inside `body`.
  private static func withCStrings<R>(
    _ strings: [[UInt8]], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> R
  ) -> R {
    var pointers: [UnsafePointer<CChar>?] = unsafe []
    func next(_ index: Int) -> R {
      guard index < strings.count else {
        unsafe pointers.append(nil)
        return unsafe pointers.withUnsafeBufferPointer { buffer in
          guard let base = buffer.baseAddress else { preconditionFailure("never empty") }
          return unsafe body(base)
        }
      }
      return unsafe strings[index].withUnsafeBytes { bytes in
        unsafe pointers.append(bytes.baseAddress?.assumingMemoryBound(to: CChar.self))
        return next(index + 1)
      }
    }
    return next(0)
  }
}
