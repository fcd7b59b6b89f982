internal import CLinux
internal import Glibc

/// Standard error as a text stream, for what a person at the terminal is told.
public struct StandardError: TextOutputStream {
  public init() {}

  public mutating func write(_ string: String) {
    let bytes = Array(string.utf8)
    _ = unsafe bytes.withUnsafeBytes {
      unsafe credd_write(STDERR_FILENO, $0.baseAddress, $0.count)
    }
  }
}
