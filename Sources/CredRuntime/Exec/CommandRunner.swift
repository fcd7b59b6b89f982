internal import CLinux
internal import CredCore
internal import CredService
internal import Glibc

/// Runs the commands of `exec` backends: without a shell, with a clean environment, in a separate
/// process group. After a deadline the group is killed. The output is limited.
final class CommandRunner: CommandRunning {
  private let loop: EventLoop
  private let background: any Background
  /// Hides credentials from commands; nil without a `$CREDENTIALS_DIRECTORY`.
  private let credentials: HiddenCredentials?
  /// The runs by pid, until the child is reaped: before that, no other process can have the pid.
  private(set) var runs: [Int32: CommandRun] = [:]

  init(loop: EventLoop, background: any Background, credentials: HiddenCredentials? = nil) {
    self.loop = loop
    self.background = background
    self.credentials = credentials
  }

  /// Starts the command on a thread, because its file may be on a dead file server, and
  /// `credd_spawn()` waits until the new program runs.
  func run(_ command: Command, completion: @escaping (ExecOutcome) -> Void) {
    let deadline = loop.now + command.timeout
    var waiting: ((ExecOutcome) -> Void)? = completion
    background.run(.commands, deadline: deadline) { [hiding = credentials?.hiding(from: command)] in
      Self.start(command, hiding)
    } completion: { [unowned self] outcome in
      let done = waiting.take()
      switch outcome {
      case .overdue: done?(ExecOutcome(ending: .timedOut))
      case .finished(let start): watch(start, of: command, until: deadline, done)
      }
    }
  }

  /// The result of a start.
  private struct Start: Sendable {
    /// The child, or the reason why there is none.
    let child: Result<credd_child, StartFailure>
    let hidden: HiddenCredentials.Outcome?
  }

  /// Blocks.
  private static func start(
    _ command: Command, _ hiding: (@Sendable () -> HiddenCredentials.Outcome)?
  ) -> Start {
    let hidden = hiding?()
    if case .failed(let number, _) = hidden {
      return Start(
        child: .failure(StartFailure(SystemError("start it", number: number))), hidden: hidden)
    }
    defer { hidden?.closeRules() }
    var child = credd_child()
    let variables = command.environment.map { variable in
      Array("\(variable.name)=".utf8) + variable.value.bytes + [0]
    }
    let result = unsafe CStrings.with(command.arguments.map { Array($0.utf8) + [0] }) { arguments in
      unsafe CStrings.with(variables) { environment in
        unsafe credd_spawn(arguments, environment, hidden?.rules ?? -1, &child)
      }
    }
    guard result != 0 else { return Start(child: .success(child), hidden: hidden) }
    var failure = StartFailure(SystemError("start it", number: -result))
    if !failure.isTransient, let fault = command.arguments.first.flatMap(ScriptLine.fault) {
      failure = StartFailure(reason: fault)
    }
    return Start(child: .failure(failure), hidden: hidden)
  }

  /// - Parameter done: nil if the command is overdue. Then it is killed at once.
  private func watch(
    _ start: Start, of command: Command, until deadline: Instant,
    _ done: ((ExecOutcome) -> Void)?
  ) {
    runs.values.forEach { $0.reapIfUnwatched() }
    if let hidden = start.hidden { credentials?.report(hidden) }
    switch start.child {
    case .failure(let failure): done?(ExecOutcome(ending: .notStarted(failure)))
    case .success(let child):
      let run = CommandRun(
        child, input: command.input, loop: loop, done: done ?? { _ in },
        reaped: { [weak self] in self?.runs[child.pid] = nil })
      runs[child.pid] = run
      if let failure = run.start(until: deadline) { run.finish(.notStarted(failure)) }
      if done == nil { run.finish(.timedOut) }
    }
  }
}

extension StartFailure {
  fileprivate init(_ error: SystemError) {
    self.init(
      reason: error.reason,
      // These errors mean that the host lacks something for a moment, or that the program's file is being
      // written. A wrong path or mode stays wrong.
      isTransient: [EAGAIN, ENOMEM, EMFILE, ENFILE, ETXTBSY].contains(error.number))
  }
}

/// One command under way. It owns the pipes, kills the rest of the process group at the end, and
/// exists until the child is reaped.
final class CommandRun {
  private let child: credd_child
  private let loop: EventLoop
  private let input: [UInt8]
  private var inputSent = 0
  private var output: [UInt8] = []
  private var errorOutput: [UInt8] = []
  private var childSource: EventSource?
  private var inputSource: EventSource?
  private var outputSource: EventSource?
  private var errorSource: EventSource?
  /// Fires at the deadline.
  private(set) var timer: EventSource?
  private var isInputOpen = true
  private var areOutputsOpen = true
  private var done: ((ExecOutcome) -> Void)?
  private let reaped: () -> Void

  /// Bytes of one read: a pipe's usual capacity. The limit keeps a fast writer from blocking the
  /// loop.
  private static let readAtOnce = 64 << 10
  /// The bytes of standard error that are kept; only the first line is used.
  private static let errorOutputKept = 4096

  /// - Parameters:
  ///   - done: called once with the result, perhaps before the child has died.
  ///   - reaped: called when the child is reaped; the object may then be released.
  init(
    _ child: credd_child, input: Secret, loop: EventLoop, done: @escaping (ExecOutcome) -> Void,
    reaped: @escaping () -> Void
  ) {
    self.child = child
    self.loop = loop
    self.input = input.bytes
    self.done = done
    self.reaped = reaped
  }

  deinit {
    if done != nil { credd_kill_group(child.pid) }
    closePipes()
  }

  /// Why the command cannot be watched; nil if it is watched.
  func start(until deadline: Instant) -> StartFailure? {
    do throws(SystemError) {
      childSource = try loop.child(child.pid) { [unowned self] in self.ended($0) }
      outputSource = try loop.watch(child.standard_output, for: CREDD_EPOLL_IN) {
        [unowned self] _ in self.readOutput()
      }
      errorSource = try loop.watch(child.standard_error, for: CREDD_EPOLL_IN) {
        [unowned self] _ in self.readErrorOutput()
      }
      inputSource = try loop.watch(child.standard_input, for: CREDD_EPOLL_OUT) {
        [unowned self] _ in self.writeInput()
      }
      timer = try loop.timer { [unowned self] _ in self.finish(.timedOut) }
      timer?.arm(at: deadline)
      return nil
    } catch {
      return StartFailure(error)
    }
  }

  // MARK: Pipes

  private func writeInput() {
    let sent = unsafe input.withUnsafeBytes {
      unsafe credd_write(
        child.standard_input, $0.baseAddress.map { unsafe $0 + inputSent }, $0.count - inputSent)
    }
    if sent > 0 { inputSent += sent }
    // A command need not read its input.
    if sent != -Int(EAGAIN), sent < 0 || inputSent == input.count { closeInput() }
  }

  private func readOutput() {
    let isWithin = drain(
      child.standard_output, outputSource, into: &output, upTo: Limits.Upstream.commandOutputBytes)
    if !isWithin { finish(.outputTooLarge) }
  }

  private func readErrorOutput() {
    // Output beyond the limit is read and dropped, so that the command does not block.
    if !drain(child.standard_error, errorSource, into: &errorOutput, upTo: Self.errorOutputKept) {
      errorOutput.removeLast(errorOutput.count - Self.errorOutputKept)
    }
  }

  /// Reads the available bytes. Returns false if there are more than `limit` in all.
  private func drain(
    _ descriptor: Int32, _ source: EventSource?, into bytes: inout [UInt8], upTo limit: Int
  ) -> Bool {
    var chunk = [UInt8](repeating: 0, count: 4096)
    for _ in 0...(Self.readAtOnce / chunk.count) {
      let count = unsafe chunk.withUnsafeMutableBytes {
        unsafe credd_read(descriptor, $0.baseAddress, $0.count)
      }
      guard count > 0 else {
        // At the end of the stream, epoll would report the pipe for ever.
        if count != -Int(EAGAIN) { source?.remove() }
        return true
      }
      bytes.append(contentsOf: chunk[..<count])
      guard bytes.count <= limit else { return false }
    }
    return true
  }

  private func closeInput() {
    guard isInputOpen else { return }
    isInputOpen = false
    inputSource?.remove()
    inputSource = nil
    credd_close(child.standard_input)
  }

  private func closePipes() {
    closeInput()
    guard areOutputsOpen else { return }
    areOutputsOpen = false
    outputSource?.remove()
    errorSource?.remove()
    credd_close(child.standard_output)
    credd_close(child.standard_error)
  }

  // MARK: The end

  /// The child is a zombie while this runs: no other process can have its pid or group.
  private func ended(_ ending: EventLoop.ChildEnding) {
    if done != nil { readOutput() }
    // If there was too much output, the run has ended and closed its pipes already.
    if done != nil {
      readErrorOutput()
      switch ending {
      case .exited(let status): finish(.exited(status))
      case .killed(let signal): finish(.killed(signal))
      }
    }
    reaped()
  }

  /// Kills the background processes of the command, and the command itself if it still runs.
  func finish(_ ending: ExecOutcome.Ending) {
    guard let done else { return }
    self.done = nil
    credd_kill_group(child.pid)
    timer = nil
    closePipes()
    done(ExecOutcome(ending: ending, standardOutput: Secret(output), standardError: errorOutput))
  }

  /// Reaps a command that could not be watched. Does not wait, because even a killed process may
  /// hang on a dead file server.
  func reapIfUnwatched() {
    guard childSource == nil, done == nil else { return }
    var status: Int32 = 0
    if unsafe waitpid(child.pid, &status, WNOHANG) != 0 { reaped() }
  }
}

/// Arrays of C strings for exec(3) and its like.
enum CStrings {
  /// A NULL-terminated array of C strings, valid inside `body`.
  static func with<R>(
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
