import Foundation
package import Glibc

/// The kernel's facts about a process, in a file under /proc.
package enum ProcessFile {
  /// The whole file: `String(contentsOfFile:)` ends at the first short read, which here is after 4
  /// KB.
  package static func text(_ pid: pid_t, _ name: String) throws -> String {
    let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(pid)/\(name)"))
    return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
  }

  /// How long a process has run or waited for a processor so far: the time in which it did not
  /// sleep, however busy the machine is.
  package static func busyTime(_ pid: pid_t) throws -> Duration {
    let fields = try text(pid, "schedstat").split(whereSeparator: \.isWhitespace)
    return .nanoseconds(fields.prefix(2).compactMap { Int64($0) }.reduce(0, +))
  }
}
