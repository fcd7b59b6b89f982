import Foundation
package import Glibc

/// What the kernel says of a process, in a file under /proc.
package enum ProcessFile {
  /// All of it: `String(contentsOfFile:)` ends at the first short read, which is here at 4 KB.
  package static func text(_ pid: pid_t, _ name: String) throws -> String {
    let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(pid)/\(name)"))
    return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
  }

  /// How long a process ran or waited for a processor so far: the time in which it did not sleep,
  /// however busy the machine is.
  package static func busyTime(_ pid: pid_t) throws -> Duration {
    let fields = try text(pid, "schedstat").split(whereSeparator: \.isWhitespace)
    return .nanoseconds(fields.prefix(2).compactMap { Int64($0) }.reduce(0, +))
  }
}
