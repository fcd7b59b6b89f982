import CredCore
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CredRuntime
@testable import CredService

/// Questions to this very host.
struct SystemQueriesTests {
  private let queries = SystemQueries()

  @Test func `root has its name and number`() {
    let root = UserAnswer.user(UserEntry(uid: 0, name: "root"))
    expect(queries.user(UserQuery(.uid(0))), equals: root)
    expect(queries.user(UserQuery(.name("root"))), equals: root)
  }

  @Test func `users that are not there`() {
    expect(queries.user(UserQuery(.uid(3_999_999_999))), equals: .nobody)
    expect(queries.user(UserQuery(.name("no-such-user"))), equals: .nobody)
    expect(queries.user(UserQuery(.name(""))), equals: .nobody)
    expect(queries.user(UserQuery(.name(String(repeating: "x", count: 100_000)))), equals: .nobody)
  }

  @Test func `groups are listed if they are asked for`() throws {
    guard case .user(let entry) = queries.user(UserQuery(.uid(0), withGroups: true)) else {
      Issue.record("root is not there")
      return
    }
    expect(entry.groups.contains(0))
    expect(entry.name == "root" && entry.withdrawn.isEmpty)
  }

  /// With a file of groups of its own, in a mount namespace of one thread.
  @Test(.enabled(if: geteuid() == 0, "needs root"))
  func `a membership that is withdrawn is not listed any more`() throws {
    let folder = try TemporaryFolder()
    let group = try folder.write("group", "root:x:0:\nmail:x:8:games\n")
    let box = Box<[[UInt32]?]>()
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [queries] in
      defer { done.signal() }
      guard MountNamespace.enter(), MountNamespace.bind(group, "/etc/group") else { return }
      func groups() -> [UInt32]? {
        guard case .user(let entry) = queries.user(UserQuery(.name("games"), withGroups: true))
        else { return nil }
        return entry.groups
      }
      let before = groups()
      // In place: the mount is of this very file.
      guard let file = FileHandle(forWritingAtPath: group) else { return }
      try? file.truncate(atOffset: 0)
      file.write(Data("root:x:0:\nmail:x:8:\n".utf8))
      box.set([before, groups()])
    }
    expect(done.waitWithLimit())
    let seen = try #require(box.take())
    expect(seen[0]?.contains(8) == true)
    expect(seen[1]?.contains(8) == false)
  }

  /// Two such names would read the same.
  @Test(.enabled(if: geteuid() == 0, "needs root"))
  func `a name that is not UTF-8 is no name`() throws {
    let folder = try TemporaryFolder()
    let passwd = try folder.write("passwd", "root:x:0:0::/:/bin/sh\n")
    let box = Box<[UserAnswer]>()
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [queries] in
      defer { done.signal() }
      guard MountNamespace.enter(), MountNamespace.bind(passwd, "/etc/passwd"),
        let file = FileHandle(forWritingAtPath: passwd)
      else { return }
      try? file.truncate(atOffset: 0)
      for (last, uid) in [(0xE9, 2006), (0xE8, 2007)] as [(UInt8, Int)] {
        file.write(Data("jos".utf8) + [last] + Data(":x:\(uid):\(uid)::/:/bin/sh\n".utf8))
      }
      file.write(Data("jos\u{E9}:x:2003:2003::/:/bin/sh\n".utf8))
      box.set([2006, 2007, 2003].map { queries.user(UserQuery(.uid($0))) })
    }
    expect(done.waitWithLimit())
    let known = UserAnswer.user(UserEntry(uid: 2003, name: "jos\u{E9}"))
    expect(box.take(), equals: [.unreadableName, .unreadableName, known])
  }

  /// mount(2) and unshare(2), which Swift's module of the C library lacks.
  private enum MountNamespace {
    private static let newNamespace: Int32 = 0x0002_0000
    private static let bindMount: UInt = 4096
    private static let privateMounts: UInt = 1 << 18 | 16384

    /// Gives the calling thread mounts of its own.
    static func enter() -> Bool {
      typealias Unshare = @convention(c) (Int32) -> Int32
      guard let found = unsafe dlsym(nil, "unshare") else { return false }
      let unshare = unsafe unsafeBitCast(found, to: Unshare.self)
      return unshare(newNamespace) == 0 && mount("none", "/", privateMounts)
    }

    static func bind(_ source: String, _ target: String) -> Bool {
      mount(source, target, bindMount)
    }

    private static func mount(_ source: String, _ target: String, _ flags: UInt) -> Bool {
      typealias Mount =
        @convention(c) (
          UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafePointer<CChar>?, UInt,
          UnsafeRawPointer?
        ) -> Int32
      guard let found = unsafe dlsym(nil, "mount") else { return false }
      return unsafe unsafeBitCast(found, to: Mount.self)(source, target, nil, flags, nil) == 0
    }
  }

  @Test func `more look-ups than threads are all answered`() throws {
    let thread = try LoopThread()
    let count = 20 * BackgroundLane.users.width
    let answers: [UInt32: UserAnswer] = try thread.wait { [queries] loop, done in
      let background = try ThreadBackground(loop: loop, log: Heard().logger)
      let clock = try SystemClock(loop: loop, log: Heard().logger)
      let directory = UserDirectory(clock: clock, background: background, queries: queries)
      let uids = (0..<UInt32(count)).map { 3_000_000_000 + $0 }
      var answered = 0
      // A busy machine has more time: deadlines have tests of their own.
      let later = loop.now + HangLimit.duration
      for uid in uids {
        let first = directory.answer(to: UserQuery(.uid(uid)), now: later) {
          answered += 1
          guard answered == count else { return }
          done(
            Dictionary(
              uniqueKeysWithValues: uids.map {
                ($0, directory.known(UserQuery(.uid($0))) ?? .unavailable)
              }
            ))
        }
        expect(first == nil)
      }
      return (directory, background, clock)
    }
    expect(answers.count, equals: count)
    expect(answers.values.allSatisfy { $0 == .nobody })
  }

  @Test func `this process runs its own program`() throws {
    let path = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    guard case .program(path, _) = queries.program(of: getpid()) else {
      Issue.record("\(queries.program(of: getpid()))")
      return
    }
    guard case .unknown = queries.program(of: 1 << 22 + 1) else {
      Issue.record("a pid that is not there has a program")
      return
    }
  }

  @Test func `the digest is of the file's content`() throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sleep")
    process.arguments = ["600"]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    defer { kill(process.processIdentifier, SIGKILL) }
    let pid = process.processIdentifier
    // Until exec, it still runs this program.
    var found: (path: String, file: ProgramFile)?
    let runsSleep = eventually {
      guard case .program(let path, let file) = queries.program(of: pid) else { return false }
      found = (path, file)
      return path.hasSuffix("sleep")
    }
    expect(runsSleep)
    let program = try #require(found)
    let sum = Process()
    let output = Pipe()
    sum.executableURL = URL(fileURLWithPath: "/usr/bin/sha256sum")
    sum.arguments = [program.path]
    sum.standardOutput = output
    try sum.run()
    let said = String(
      decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    let digest = try #require(said.split(separator: " ").first)
    expect(queries.digest(of: program.file, runBy: pid), equals: .digest(String(digest)))
    // Another file than the one that was looked at is not hashed.
    guard case .unknown = queries.digest(of: program.file, runBy: getpid()) else {
      Issue.record("another program's file was hashed")
      return
    }
  }

  // MARK: Files and environment

  @Test func `a secret file is read whole, up to its limit`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("token", "secret\n")
    expect(try queries.file(path, key: "k").exposedText(), equals: "secret\n")
    let limit = String(repeating: "x", count: SecretFile.sizeLimit)
    try folder.write("token", limit)
    expect(try queries.file(path, key: "k").count, equals: SecretFile.sizeLimit)
    try folder.write("token", limit + "x")
    expect(failure(path)?.reason.contains("is larger than 65536 bytes") == true)
  }

  @Test func `what cannot be read is named under its key`() throws {
    let folder = try TemporaryFolder()
    let missing = failure("\(folder.path)/none")
    expect(missing?.field, equals: "bearer_token_file")
    expect(missing?.reason.contains("cannot read \(folder.path)/none") == true)
    expect(failure(folder.path) != nil)
  }

  /// Opening a pipe that no process writes to would wait for ever.
  @Test func `a pipe without a writer is not waited for`() throws {
    let folder = try TemporaryFolder()
    expect(unsafe mkfifo("\(folder.path)/pipe", 0o600), equals: 0)
    expect(try queries.file("\(folder.path)/pipe", key: "k").isEmpty)
  }

  @Test func `variables of the environment`() {
    // None is set for it: other tests' threads read the environment meanwhile.
    let path = ProcessInfo.processInfo.environment["PATH"]
    expect(path != nil)
    expect(queries.environment("PATH"), equals: path)
    expect(queries.environment("CREDD_NO_SUCH_VARIABLE") == nil)
  }

  private func failure(_ path: String) -> InvalidInput? {
    do throws(InvalidInput) {
      _ = try queries.file(path, key: "bearer_token_file")
      return nil
    } catch {
      return error
    }
  }
}
