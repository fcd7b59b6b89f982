import Foundation
import Glibc

enum Landlock {
  /// The version that the kernel has, or -1.
  static let version: Int = {
    let question = "import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))"
    guard let pipe = unsafe popen("python3 -c '\(question)'", "r") else { return -1 }
    defer { unsafe pclose(pipe) }
    var line = [CChar](repeating: 0, count: 32)
    guard unsafe fgets(&line, 32, pipe) != nil else { return -1 }
    let text = String(
      decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) ?? -1
  }()
}
