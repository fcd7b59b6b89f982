import Foundation
import Glibc
import Testing
import TestSupport

/// credd when it has read its configuration and has done nothing else: the configuration's problems
/// fill a pipe that nobody reads.
final class UnfinishedStart {
  let credd: ChildProcess
  private let reader: Int32

  /// - Parameter program: what runs credd, and credd.
  init(_ program: [String], _ options: [String]) throws {
    let stage = try Stage.current()
    let (file, pipe) = (stage.newFile("credd.conf"), stage.newFile("pipe"))
    let unknown = (0..<900).map { "unknown_\(String(repeating: "x", count: 200))\($0) = 1\n" }
    try Data(("[daemon]\n" + unknown.joined()).utf8).write(to: URL(filePath: file))
    try #require(unsafe mkfifo(pipe, 0o600) == 0)
    reader = unsafe open(pipe, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    try #require(reader >= 0)
    credd = try ChildProcess(
      ["/bin/sh", "-c", "exec 2>\(pipe); exec \"$@\"", "sh"] + program + ["--config", file]
        + options)
    var unread: Int32 = 0
    try Deadline.usual.wait(for: "the configuration's problems") {
      _ = unsafe ioctl(reader, UInt(FIONREAD), &unread)
      return unread > 60_000
    }
  }

  deinit { close(reader) }
}
