internal import CLinux
internal import CredCore
internal import Glibc

/// A small file with a secret in it, read anew for each use so that it can be replaced.
enum SecretFile {
  static let sizeLimit = 64 << 10

  /// - Throws: in words that name the file, for the operator.
  static func read(_ path: String, as key: String) throws(InvalidInput) -> Secret {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw unreadable(path, key, errno) }
    defer { credd_close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: sizeLimit + 1)
    var count = 0
    while count < bytes.count {
      let read = unsafe bytes.withUnsafeMutableBytes {
        unsafe credd_read(descriptor, $0.baseAddress.map { unsafe $0 + count }, $0.count - count)
      }
      guard read >= 0 else { throw unreadable(path, key, Int32(-read)) }
      if read == 0 { break }
      count += read
    }
    guard count <= sizeLimit else {
      throw InvalidInput(field: key, reason: "\(path) is larger than \(sizeLimit) bytes")
    }
    return Secret(Array(bytes[..<count]))
  }

  private static func unreadable(_ path: String, _ key: String, _ number: Int32) -> InvalidInput {
    InvalidInput(field: key, reason: SystemError("cannot read \(path)", number: number).description)
  }
}
