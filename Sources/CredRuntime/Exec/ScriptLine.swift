internal import CLinux
internal import CredCore
internal import Glibc

/// The line `#!INTERPRETER` of a script, which the kernel reads. Where it is of no use, the kernel says
/// of the script itself that there is no such file.
enum ScriptLine {
  /// Bytes of a file that the kernel looks at (Linux 5.1 and later).
  private static let length = 256

  /// What keeps a script from being run; nil for another file, or if it cannot be read. Blocks.
  static func fault(of path: String) -> String? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { credd_close(descriptor) }
    var head = [UInt8](repeating: 0, count: length)
    let count = unsafe head.withUnsafeMutableBytes {
      unsafe credd_read_at(descriptor, $0.baseAddress, $0.count, 0)
    }
    guard count > 0 else { return nil }
    return fault(in: head[..<count]) { unsafe access($0, X_OK) == 0 ? 0 : errno }
  }

  /// - Parameter refusal: the errno if a program cannot be run; else 0.
  static func fault(in head: ArraySlice<UInt8>, refusal: (String) -> Int32) -> String? {
    guard head.starts(with: "#!".utf8) else { return nil }
    let line = head.dropFirst(2).prefix { $0 != UInt8(ascii: "\n") }
    guard line.last != UInt8(ascii: "\r") else {
      return "its '#!' line ends in a carriage return: 'sed -i \"s/\\r$//\"' mends its line ends"
    }
    let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    guard let first = words.first else { return "its '#!' line names no interpreter" }
    let interpreter = String(decoding: first, as: UTF8.self)
    // The command's folder is /.
    let number = refusal(interpreter.hasPrefix("/") ? interpreter : "/\(interpreter)")
    guard number != 0 else { return nil }
    let reason = SystemError("", number: number).reason
    return "the interpreter \(interpreter.onOneLine.singleQuoted) of its '#!' line: \(reason)"
  }
}
