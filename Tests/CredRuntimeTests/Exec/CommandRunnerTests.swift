import CredCore
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CredRuntime
@testable import CredService

struct CommandRunnerTests {
  private final class Outcomes {
    var of: [String: ExecOutcome] = [:]
  }

  private static func runner(_ loop: EventLoop) throws(SystemError) -> CommandRunner {
    CommandRunner(
      loop: loop, background: try ThreadBackground(loop: loop, log: Heard().logger))
  }

  /// Runs a command as an exec backend would be.
  private func outcome(
    _ arguments: [String], environment: [(name: String, value: Secret)] = [],
    input: String = "", timeout: Duration = HangLimit.duration
  ) throws -> ExecOutcome {
    signal(SIGPIPE, SIG_IGN)
    let thread = try LoopThread()
    // A killed command is reaped later: the thread keeps the runner as long as the loop turns.
    return try thread.wait { loop, done in
      let runner = try Self.runner(loop)
      runner.run(
        Command(arguments, environment: environment, input: Secret(input), timeout: timeout),
        completion: done)
      return runner
    }
  }

  private func shell(
    _ script: String, _ arguments: [String] = [], input: String = "",
    timeout: Duration = HangLimit.duration
  ) throws -> ExecOutcome {
    try outcome(
      ["/bin/sh", "-c", script, "sh"] + arguments, environment: Self.path, input: input,
      timeout: timeout)
  }

  private static let path = [(name: "PATH", value: Secret("/usr/bin:/bin"))]

  /// Runs a command that does not end, and lets its deadline come when it has written what it has to.
  ///
  /// - Parameter file: the command writes `count` lines there.
  /// - Returns: the outcome and the lines.
  private func outcome(
    _ arguments: [String], expiringAfter count: Int, linesIn file: String
  ) throws -> (ExecOutcome, lines: [Substring]) {
    signal(SIGPIPE, SIG_IGN)
    let thread = try LoopThread()
    let runner = try thread.run { OnLoop(value: try Self.runner($0)) }
    defer {
      thread.stop()
      withExtendedLifetime(runner) {}
    }
    let (result, done) = (Box<ExecOutcome>(), DispatchSemaphore(value: 0))
    try thread.run { _ in
      let command = Command(
        arguments, environment: Self.path, input: Secret(""), timeout: .seconds(86_400))
      runner.value.run(command) {
        result.set($0)
        done.signal()
      }
    }
    var lines: [Substring] = []
    let hasWritten = eventually {
      let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
      lines = text.split(separator: "\n")
      return text.last == "\n" && lines.count == count
    }
    expect(hasWritten)
    let isUnderWay = try thread.reaches { loop in
      for run in runner.value.runs.values { run.timer?.arm(at: loop.now) }
      return !runner.value.runs.isEmpty
    }
    expect(isUnderWay)
    try #require(done.waitWithLimit())
    // The killed command is reaped some time after its answer.
    let isReaped = try thread.reaches { _ in runner.value.runs.isEmpty }
    expect(isReaped)
    return (try #require(result.take()), lines)
  }

  @Test func `what it reads, writes and complains about`() throws {
    let outcome = try shell("cat; echo oops >&2", input: "question")
    expect(outcome.ending, equals: .exited(0))
    expect(outcome.standardOutput.exposedText(), equals: "question")
    expect(outcome.standardError, equals: Array("oops\n".utf8))
  }

  @Test(arguments: [0, 1, 67, 77, 127, 128, 130, 255] as [Int32])
  func `exit statuses are told as they are`(_ status: Int32) throws {
    expect(try shell("exit \(status)").ending, equals: .exited(status))
  }

  @Test(arguments: [SIGKILL, SIGTERM, SIGSEGV])
  func `signals are told as they are`(_ signal: Int32) throws {
    expect(try shell("kill -\(signal) $$").ending, equals: .killed(signal))
  }

  @Test(arguments: [
    ("/no/such/command", "No such file or directory"), ("/etc/passwd", "Permission denied"),
    ("/tmp", "Permission denied"),
  ])
  func `what cannot be executed is not started`(_ path: String, _ reason: String) throws {
    expect(try outcome([path]).ending, equals: .notStarted(StartFailure(reason: reason)))
  }

  /// The kernel says of a script itself that there is no such file.
  @Test(arguments: [
    (
      "#!/bin/sh\r\necho\r\n",
      "its '#!' line ends in a carriage return: 'sed -i \"s/\\r$//\"' mends its line ends"
    ),
    (
      "#! /no/such/shell -e\n",
      "the interpreter '/no/such/shell' of its '#!' line: No such file or directory"
    ),
    ("#!\n", "its '#!' line names no interpreter"),
    ("echo\n", "Exec format error"),
  ])
  func `a script that cannot be started has its reason`(_ text: String, _ reason: String) throws {
    let folder = try TemporaryFolder()
    try folder.write("script", text)
    let path = "\(folder.path)/script"
    expect(unsafe chmod(path, 0o755), equals: 0)
    expect(try outcome([path]).ending, equals: .notStarted(StartFailure(reason: reason)))
  }

  /// As it does while a new version is copied into its place.
  @Test func `a program whose file is being written is tried again`() throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/program"
    try FileManager.default.copyItem(atPath: "/bin/true", toPath: path)
    let writer = unsafe open(path, O_WRONLY | O_CLOEXEC)
    defer { close(writer) }
    expect(
      try outcome([path]).ending,
      equals: .notStarted(StartFailure(reason: "Text file busy", isTransient: true)))
  }

  /// Its file may be on a file server that is away.
  @Test func `a command that starts after its deadline is killed, and the loop goes on`() throws {
    signal(SIGPIPE, SIG_IGN)
    let thread = try LoopThread()
    let (background, runner) = try thread.run { loop in
      let background = HeldBackground(try ThreadBackground(loop: loop, log: Heard().logger))
      let runner = CommandRunner(loop: loop, background: background)
      return (OnLoop(value: background), OnLoop(value: runner))
    }
    defer {
      thread.stop()
      withExtendedLifetime((background, runner)) {}
    }
    let outcome: ExecOutcome = try thread.wait { _, done in
      let command = Command(
        ["/bin/sh", "-c", "exec sleep 600"], environment: Self.path, input: Secret(""),
        timeout: .milliseconds(100))
      runner.value.run(command, completion: done)
      return nil
    }
    expect(outcome.ending, equals: .timedOut)
    let pids = try thread.wait { _, done in
      background.value.finished = { done(Array(runner.value.runs.keys)) }
      background.value.goOn()
      return nil
    }
    expect(pids.count, equals: 1)
    expect(pids.allSatisfy(isReaped))
    expect(try thread.reaches { _ in runner.value.runs.isEmpty })
  }

  @Test func `arguments reach the command without a shell`() throws {
    let arguments = ["a; echo b", "$(id)", "`id`", "$HOME", "*", "\"'", "", "-n", "ü\n"]
    let outcome = try outcome(
      ["/usr/bin/python3", "-c", "import sys; print('|'.join(sys.argv[1:]), end='')"] + arguments)
    expect(outcome.standardOutput.exposedText(), equals: arguments.joined(separator: "|"))
  }

  @Test func `the environment holds what it is given and nothing else`() throws {
    let outcome = try outcome(
      ["/usr/bin/env"], environment: [("A", Secret("1=2 3")), ("B", Secret(""))])
    expect(outcome.standardOutput.exposedText(), equals: "A=1=2 3\nB=\n")
  }

  @Test func `no descriptor but the standard streams is inherited, and the folder is the root`()
    throws
  {
    let open = dup(2)  // without close-on-exec
    defer { close(open) }
    let outcome = try outcome([
      "/usr/bin/python3", "-c",
      "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))), os.getcwd())",
    ])
    // Python lists the folder through a descriptor of its own.
    expect(outcome.standardOutput.exposedText(), equals: "[0, 1, 2, 3] /\n")
  }

  @Test func `the limit on descriptors is the usual one, and the daemon keeps its own`() throws {
    var before = rlimit()
    unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
    var raised = before
    raised.rlim_cur = before.rlim_max
    unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised)
    defer { unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before) }
    let outcome = try shell("ulimit -Sn")
    expect(outcome.standardOutput.exposedText(), equals: "\(min(raised.rlim_cur, 1024))\n")
    var after = rlimit()
    unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &after)
    expect(after.rlim_cur, equals: raised.rlim_cur)
  }

  /// As on a file server that does not answer.
  @Test(.enabled(if: getuid() == 0, "takes root"))
  func `a command whose file hangs holds up no other`() throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/hanging"
    try FileManager.default.copyItem(atPath: "/bin/true", toPath: path)
    let hanging = try HangingFile(path)
    let thread = try LoopThread()
    let runner = try thread.run { OnLoop(value: try Self.runner($0)) }
    defer {
      thread.stop()
      withExtendedLifetime(runner) {}
    }
    @Sendable func command(_ path: String) -> Command {
      Command([path], environment: [], input: Secret(""), timeout: HangLimit.duration)
    }
    let outcomes = OnLoop(value: Outcomes())
    try thread.run { _ in
      runner.value.run(command(path)) { outcomes.value.of[path] = $0 }
    }
    try hanging.waitUntilAsked()
    let other: ExecOutcome = try thread.wait { _, done in
      runner.value.run(command("/bin/true"), completion: done)
      return nil
    }
    expect(other.ending, equals: .exited(0))
    expect(try thread.run { _ in outcomes.value.of[path] == nil })
    hanging.goOn()
    expect(try thread.reaches { _ in outcomes.value.of[path]?.ending == .exited(0) })
  }

  @Test func `signals are neither blocked nor ignored`() throws {
    let outcome = try shell("grep -E 'SigBlk|SigIgn' /proc/self/status")
    let masks = outcome.standardOutput.exposedText()?.split(separator: "\n")
      .compactMap { UInt64($0.drop { $0 != "\t" }.dropFirst(), radix: 16) }
    // The C library keeps two of the real-time signals for itself.
    expect(masks?.map { $0 & 0x7FFF_FFFF }, equals: [0, 0])
  }

  // MARK: The end of what does not end

  @Test func `the deadline kills the whole group`() throws {
    let folder = try TemporaryFolder()
    let file = "\(folder.path)/pids"
    let (outcome, lines) = try outcome(
      ["/bin/sh", "-c", "sleep 600 & echo $! >$0; echo $$ >>$0; wait", file],
      expiringAfter: 2, linesIn: file)
    expect(outcome.ending, equals: .timedOut)
    let pids = lines.compactMap { pid_t($0) }
    expect(pids.count, equals: 2)
    expect(pids.allSatisfy(isGone))
    expect(pids.last.map(isReaped) == true)
  }

  /// What is waited for would last longer than the test.
  @Test func `what a command leaves in the background is killed and not waited for`() throws {
    let outcome = try shell("sleep 600 & echo $!")
    expect(outcome.ending, equals: .exited(0))
    let pid = outcome.standardOutput.exposedText().flatMap { pid_t($0.dropLast()) }
    expect(pid.map(isGone) == true)
  }

  @Test func `a grandchild of another session that keeps the pipes open is not waited for`() throws
  {
    let folder = try TemporaryFolder()
    // It is of another session when it writes.
    let outcome = try shell(
      "mkfifo $1; setsid sh -c 'echo $$ >$0; exec sleep 600' $1 & cat $1", ["\(folder.path)/pipe"])
    expect(outcome.ending, equals: .exited(0))
    let said = try #require(outcome.standardOutput.exposedText())
    let pid = try #require(pid_t(said.dropLast()))
    // It goes on, and has the pipes.
    expect(kill(pid, SIGKILL), equals: 0)
  }

  @Test func `a command that ignores SIGTERM and left its group dies too`() throws {
    let folder = try TemporaryFolder()
    let file = "\(folder.path)/pid"
    let (outcome, lines) = try outcome(
      [
        "/usr/bin/python3", "-c",
        "import os, signal, sys; signal.signal(15, signal.SIG_IGN); "
          + "os.setpgid(0, os.getpgid(os.getppid())); "
          + "print(os.getpid(), os.getpgrp() != os.getpid(), file=open(sys.argv[1], 'w'), flush=True); "
          + "signal.pause()",
        file,
      ], expiringAfter: 1, linesIn: file)
    expect(outcome.ending, equals: .timedOut)
    let words = try #require(lines.first).split(separator: " ")
    // It had left its group, so that killing the group alone would have spared it.
    expect(words.last, equals: "True")
    expect(words.first.flatMap { pid_t($0) }.map(isGone) == true)
  }

  @Test(arguments: ["exit 0", "exit 3", "kill -9 $$"])
  func `no zombie is left behind`(_ script: String) throws {
    signal(SIGPIPE, SIG_IGN)
    let thread = try LoopThread()
    let runner = try thread.run { OnLoop(value: try Self.runner($0)) }
    defer {
      thread.stop()
      withExtendedLifetime(runner) {}
    }
    let outcome: ExecOutcome = try thread.wait { _, done in
      let command = Command(
        ["/bin/sh", "-c", "echo $$; \(script)"], environment: [], input: Secret(""),
        timeout: HangLimit.duration)
      runner.value.run(command, completion: done)
      return nil
    }
    let said = try #require(outcome.standardOutput.exposedText())
    expect(isReaped(try #require(pid_t(said.dropLast()))))
  }

  // MARK: Limits

  @Test func `output up to the limit is taken, one byte more is too much`() throws {
    let size = Limits.Upstream.commandOutputBytes
    expect(try shell("head -c \(size) /dev/zero").standardOutput.count, equals: size)
    expect(try shell("head -c \(size + 1) /dev/zero").ending, equals: .outputTooLarge)
    expect(try shell("exec cat /dev/zero").ending, equals: .outputTooLarge)
  }

  @Test func `complaints beyond their limit are dropped`() throws {
    let outcome = try shell("head -c 1000000 /dev/zero | tr '\\0' x >&2")
    expect(outcome.ending, equals: .exited(0))
    expect(outcome.standardError.count, equals: 4096)
  }

  @Test func `complaints without end keep the loop from nothing`() throws {
    // Several, so that the pipe is full again before it is found empty.
    let complain = String(repeating: "yes >&2 & ", count: 4)
    expect(try shell(complain + "yes >&2", timeout: .milliseconds(300)).ending, equals: .timedOut)
  }

  @Test func `a large input goes through, and need not be read`() throws {
    let input = String(repeating: "0123456789abcdef", count: 40_000)
    let outcome = try shell("wc -c", input: input)
    expect(outcome.standardOutput.exposedText(), equals: "640000\n")
    expect(try shell("exit 4", input: input).ending, equals: .exited(4))
    expect(try shell("exec <&-; exit 5", input: input).ending, equals: .exited(5))
  }

  @Test func `many commands run at once`() throws {
    signal(SIGPIPE, SIG_IGN)
    let thread = try LoopThread()
    let endings: [Int: ExecOutcome.Ending] = try thread.wait { loop, done in
      let runner = try Self.runner(loop)
      var endings: [Int: ExecOutcome.Ending] = [:]
      for number in 0..<20 {
        let command = Command(
          ["/bin/sh", "-c", "exit \(number)"], environment: [], input: Secret("x"),
          timeout: HangLimit.duration)
        runner.run(command) {
          endings[number] = $0.ending
          if endings.count == 20 { done(endings) }
        }
      }
      return runner
    }
    expect(endings.count, equals: 20)
    expect(endings.allSatisfy { $0.value == .exited(Int32($0.key)) })
  }

  /// A zombie is there for kill(2) until its parent has waited for it.
  private func isReaped(_ pid: pid_t) -> Bool { eventually { kill(pid, 0) != 0 } }

  /// Killed, though perhaps not reaped yet by the process that inherited it.
  private func isGone(_ pid: pid_t) -> Bool {
    eventually {
      guard kill(pid, 0) == 0 else { return true }
      let status = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ") Z"
      return status.contains(") Z") || status.contains(") X")
    }
  }
}

/// Work does not end before the test says so, as on a file server that is away.
private final class HeldBackground: Background {
  private let threads: ThreadBackground
  private let door = DispatchSemaphore(value: 0)
  /// Called after the completion of work that has ended.
  var finished = {}

  init(_ threads: ThreadBackground) { self.threads = threads }

  func goOn() { door.signal() }

  func run<Value: Sendable>(
    _ lane: BackgroundLane, deadline: Instant, _ work: @escaping @Sendable () -> Value,
    completion: @escaping (BackgroundOutcome<Value>) -> Void
  ) {
    threads.run(lane, deadline: deadline) { [door] in
      _ = door.waitWithLimit()
      return work()
    } completion: { [unowned self] outcome in
      completion(outcome)
      if case .finished = outcome { finished() }
    }
  }
}
