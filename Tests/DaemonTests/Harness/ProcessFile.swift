import Foundation
import Glibc

/// What the kernel says of a process, in a file under /proc.
enum ProcessFile {
  /// All of it: `String(contentsOfFile:)` ends at the first short read, which is here at 4 KB.
  static func text(_ pid: pid_t, _ name: String) throws -> String {
    let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(pid)/\(name)"))
    return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
  }
}
