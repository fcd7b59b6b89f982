import CCallers
import Foundation
import Glibc
import TestSupport

/// A client in a process of its own: with any uid and groups, in any unit, of any program. It need
/// not be a user that the host knows. Takes root.
final class Caller {
  /// What the kernel says of a client.
  struct Identity: Hashable {
    var uid: UInt32
    var groups: [UInt32] = []
    /// The unit that it runs in; nil for that of the tests.
    var unit: ControlGroup?
    /// It has to read its standard input to the end, as cat(1) does.
    var program = "/bin/cat"
  }

  let socket: StreamSocket
  private let pid: pid_t
  private let lifeline: Int32
  /// Kept here, so that it is removed after its last process has ended.
  private let unit: ControlGroup?

  init(_ identity: Identity, to path: String) throws {
    var (pid, lifeline): (pid_t, Int32) = (0, -1)
    let program = unsafe strdup(identity.program)
    let group = unsafe identity.unit.flatMap { unsafe strdup($0.folder) }
    defer {
      unsafe free(program)
      unsafe free(group)
    }
    let connection = unsafe identity.groups.withUnsafeBufferPointer { groups in
      var caller = unsafe ccallers_caller(
        uid: identity.uid, gid: identity.uid, groups: groups.baseAddress,
        group_count: groups.count, control_group: group, program: program)
      return unsafe ccallers_connect(path, &caller, &pid, &lifeline)
    }
    guard connection >= 0 else { throw CallFailed("connect as \(identity.uid)", -connection) }
    socket = StreamSocket(connected: connection)
    (self.pid, self.lifeline, unit) = (pid, lifeline, identity.unit)
  }

  deinit {
    close(lifeline)
    var status: Int32 = 0
    unsafe waitpid(pid, &status, 0)
  }

  /// Asks one thing, after the answer to the last.
  func ask(_ line: String) throws -> JSON {
    try socket.send(line + "\n")
    return try socket.reply()
  }
}

/// A control group that looks like a systemd unit of the host. Takes root, and control groups that can
/// be written.
final class ControlGroup: Hashable, Sendable {
  let name: String
  let folder: String

  /// Where systemd looks for units: the second version's hierarchy, where there is one beside the first's.
  private static let root: String = {
    let roots = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup"]
    return roots.first { FileManager.default.fileExists(atPath: $0 + "/cgroup.procs") } ?? roots[2]
  }()

  static let canBeMade: Bool = {
    guard let trial = try? ControlGroup("credd-trial-\(getpid()).service") else { return false }
    return FileManager.default.fileExists(atPath: trial.folder + "/cgroup.procs")
  }()

  init(_ name: String) throws {
    self.name = name
    folder = Self.root + "/" + name
    // One that a killed run left is as good.
    guard unsafe mkdir(folder, 0o755) == 0 || errno == EEXIST else {
      throw CallFailed("mkdir \(folder)")
    }
  }

  deinit { unsafe rmdir(folder) }

  static func == (one: ControlGroup, other: ControlGroup) -> Bool { one === other }
  func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
