import CLinux
import CredCore
import CredctlKit
import Glibc

/// Reads secrets from standard input and from files.
enum SecretFile {
  /// - Parameter limit: in bytes; more is an error.
  static func standardInput(limit: Int = InputLimits.secret) throws(Failure) -> [UInt8] {
    try contents(of: STDIN_FILENO, name: "standard input", limit: limit)
  }

  /// - Parameter limit: in bytes; more is an error.
  static func contents(
    ofFile path: String, limit: Int = InputLimits.secret
  ) throws(Failure) -> [UInt8] {
    let number = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else {
      throw Failure(.usage, "cannot open \(path): \(SystemError.text(of: errno))")
    }
    let descriptor = Descriptor(owning: number)
    return try contents(of: descriptor.number, name: path, limit: limit)
  }

  private static func contents(
    of descriptor: CInt, name: String, limit: Int
  ) throws(Failure) -> [UInt8] {
    // One more than is allowed shows that there is more; the buffer never moves.
    var bytes = [UInt8](repeating: 0, count: limit + 1)
    defer { bytes.wipe() }
    var filled = 0
    while filled < bytes.count {
      let count = unsafe bytes.withUnsafeMutableBytes { all in
        unsafe read(descriptor, all.baseAddress?.advanced(by: filled), all.count - filled)
      }
      if count == 0 { return Array(bytes[..<filled]) }
      if count > 0 {
        filled += count
      } else if errno != EINTR {
        throw Failure(.usage, "cannot read \(name): \(SystemError.text(of: errno))")
      }
    }
    throw Failure(.dataError, "\(name) holds more than \(limit) bytes")
  }
}
