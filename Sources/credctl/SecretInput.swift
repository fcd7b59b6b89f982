import CLinux
import CredCore
import CredctlKit
import Glibc

/// Reads secrets from standard input and from files.
enum SecretInput {
  /// - Parameter limit: the most bytes; more are an error.
  static func standardInput(limit: Int = InputLimits.secret) throws(Failure) -> [UInt8] {
    try contents(of: STDIN_FILENO, name: "standard input", limit: limit)
  }

  /// The next line of standard input, and no further byte: the next line may have another purpose.
  static func line() throws(Failure) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.longestLine)
    defer { bytes.wipe() }
    while bytes.count < Self.longestLine {
      var byte: UInt8 = 0
      try waitForInput()
      let count = unsafe read(STDIN_FILENO, &byte, 1)
      if count == 0 || byte == 0x0A && count == 1 { return Array(bytes) }
      if count == 1 {
        bytes.append(byte)
      } else if errno != EINTR {
        throw Failure(.dataError, "cannot read standard input: \(ErrorText.of(errno))")
      }
    }
    throw Failure(.dataError, "a line of standard input has more than \(Self.longestLine) bytes")
  }

  /// A pipe may stay empty for ever. A noted signal ends the wait.
  private static func waitForInput() throws(Failure) {
    while true {
      guard credd_noted_end() == 0 else { throw Failure.signInCancelled }
      var entry = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
      // A second at most: a signal may come just before the wait.
      let ready = unsafe poll(&entry, 1, 1000)
      if ready > 0 || ready < 0 && errno != EINTR { return }
    }
  }

  /// The most bytes of a line; passwords and codes have far fewer.
  private static let longestLine = 16 << 10

  /// - Parameter limit: the most bytes; more are an error.
  static func contents(
    ofFile path: String, limit: Int = InputLimits.secret
  ) throws(Failure) -> [UInt8] {
    let number = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else {
      throw Failure(.dataError, "cannot open \(path): \(ErrorText.of(errno))")
    }
    let descriptor = Descriptor(owning: number)
    return try contents(of: descriptor.number, name: path, limit: limit)
  }

  private static func contents(
    of descriptor: CInt, name: String, limit: Int
  ) throws(Failure) -> [UInt8] {
    // One byte over the limit shows that the file is longer. The buffer never moves, so one wipe is
    // enough.
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
        throw Failure(.dataError, "cannot read \(name): \(ErrorText.of(errno))")
      }
    }
    throw Failure(.dataError, "\(name) holds more than \(limit) bytes")
  }
}
