import Foundation
import Glibc
import TestSupport

/// A machine with a systemd of its own, on which the package is installed: booted once, by
/// `scripts/test-machine`, for all tests. It goes with the test process, however that ends.
final class Machine: Sendable {
  static let pool = "us-east-1:11111111-2222-3333-4444-555555555555"
  /// Where credd-sandbox listens.
  static let sandbox = "http://127.0.0.1:4599"

  private static let shared = Result { try Machine() }

  static func current() throws -> Machine { try shared.get() }

  /// Why there can be no machine here; nil where there can.
  static let obstacle: String? = {
    if geteuid() != 0 { return "needs root: run 'sudo make test-all ONLY=machines'" }
    for program in ["systemd-nspawn", "nsenter", "unshare"] where !isInstalled(program) {
      return "needs \(program): run 'make deps'"
    }
    if !FileManager.default.fileExists(atPath: "/sys/fs/cgroup") { return "needs cgroups" }
    if package == nil { return "needs the Debian package: run 'make deb'" }
    return nil
  }()

  private static let repository = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../..").standardizedFileURL.path

  private static let package = newest("credd_", "deb")

  /// The file name of the newest package whose name begins so, and goes on with its version.
  static func newest(_ start: String, _ type: String) -> String? {
    let folder = URL(filePath: repository + "/build")
    let files = try? FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: [.contentModificationDateKey])
    return files?.filter {
      $0.pathExtension == type && $0.lastPathComponent.hasPrefix(start)
        && $0.lastPathComponent.dropFirst(start.count).first?.isNumber == true
    }
    .max { modified($0) < modified($1) }?.lastPathComponent
  }

  private static func modified(_ file: URL) -> Date {
    let values = try? file.resourceValues(forKeys: [.contentModificationDateKey])
    return values?.contentModificationDate ?? .distantPast
  }

  private static func isInstalled(_ program: String) -> Bool {
    ["/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/"].contains {
      FileManager.default.isExecutableFile(atPath: $0 + program)
    }
  }

  /// Of the machine's init, as this process sees it.
  private let leader: pid_t
  /// What `apt-get install` of the package said.
  let installation: Command.Outcome

  private init() throws {
    // Services of the machine read what the tests write, whatever mask the shell has.
    _ = umask(0o022)
    var (input, output): ([Int32], [Int32]) = ([0, 0], [0, 0])
    guard unsafe pipe(&input) == 0, unsafe pipe(&output) == 0 else { throw CallFailed("pipe") }
    // The other end stays open as long as this process lives, and no other process has it.
    for end in input + output { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    _ = try Command.spawn(
      [Self.repository + "/scripts/test-machine"], [input[0], output[1], STDERR_FILENO])
    close(input[0])
    close(output[1])
    let words = FileHandle(fileDescriptor: output[0], closeOnDealloc: true).availableData
    let line = String(decoding: words, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    guard line.first == "ready", let pid = line.last.flatMap({ pid_t($0) }) else {
      throw Unexpected("the machine did not boot")
    }
    leader = pid
    installation = try Self.install(Self.package ?? "", pid)
  }

  private static func install(_ package: String, _ leader: pid_t) throws -> Command.Outcome {
    let prepared = try run(
      """
      for user in alice bob carol; do useradd --create-home --shell /bin/bash $user; done
      systemd-run --quiet --unit=sandbox --service-type=exec -p User=nobody \
        -p RuntimeDirectory=sandbox \
        /srv/credd/build/bin/credd-sandbox --port 4599 --any-user \
        --unix-socket /run/sandbox/http.sock --ready-file /run/sandbox/ready --quiet
      rm -f /var/lib/man-db/auto-update
      cp /srv/credd/build/\(package) /root/credd.deb
      cp /srv/credd/build/credd-sandbox_*.deb /root
      """, leader)
    guard prepared.status == 0 else { throw Unexpected("the machine: \(prepared)") }
    return try run("apt-get install --yes /root/credd.deb", leader)
  }

  /// A process of the machine, by its program's name, as this process sees it.
  func process(_ name: String) throws -> pid_t {
    let files = FileManager.default
    let own = try files.destinationOfSymbolicLink(atPath: "/proc/\(leader)/ns/pid")
    let found = try files.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }.first {
      // Processes end meanwhile.
      (try? ProcessFile.text($0, "comm")) == name + "\n"
        && (try? files.destinationOfSymbolicLink(atPath: "/proc/\($0)/ns/pid")) == own
    }
    guard let found else { throw Unexpected("\(name) does not run on the machine") }
    return found
  }

  /// Runs a shell command as root, in at most a minute.
  func run(_ command: String, input: String = "") throws -> Command.Outcome {
    try Self.run(command, input: input, leader)
  }

  private static func run(
    _ command: String, input: String = "", _ leader: pid_t
  ) throws -> Command.Outcome {
    try Command.run(
      [
        "timeout", "--kill-after=1", "60", "nsenter", "--target", "\(leader)", "--all", "--wd",
        "--", "bash", "-o", "pipefail", "-c", command,
      ], input: input)
  }
}

/// What should not be.
struct Unexpected: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
