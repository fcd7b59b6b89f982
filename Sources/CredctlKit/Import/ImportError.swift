/// What is wrong with a file to be imported, and where.
public struct ImportError: Error, Equatable, Sendable {
  /// Bytes from the start of the file, counted from 0.
  public var offset: Int
  /// Lower-case, without a full stop; never a value, since these files hold client secrets too.
  public var message: String
}

extension Failure {
  /// `FILE:LINE:COLUMN: message`.
  ///
  /// - Parameter bytes: the file's content, in which the place is counted.
  init(_ error: ImportError, in bytes: [UInt8], file: String) {
    let before = bytes.prefix(error.offset)
    let line = before.count { $0 == UInt8(ascii: "\n") } + 1
    let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    // Bytes that continue a character do not move the eye.
    let column = before[start...].count { $0 & 0xC0 != 0x80 } + 1
    self.init(.dataError, "\(file):\(line):\(column): \(error.message)")
  }
}
