internal import Glibc

/// A failed system call, with the attempted operation and the errno.
public struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The attempted operation in words: `bind /run/credd/credd.sock`.
  public var operation: String
  /// The errno value.
  public var number: Int32

  public init(_ operation: String, number: Int32) {
    self.operation = operation
    self.number = number
  }

  /// The errno in words.
  var reason: String {
    let text = unsafe String(cString: strerror(number))
    return number == EFBIG ? "\(text): RLIMIT_FSIZE, or LimitFSIZE= of the unit" : text
  }

  public var description: String { "\(operation): \(reason)" }

  /// Turns the `-errno` convention of the C shims and libsystemd into a typed error.
  @discardableResult
  static func check<Value: SignedInteger>(
    _ result: Value, _ operation: @autoclosure () -> String
  ) throws(SystemError) -> Value {
    guard result < 0 else { return result }
    throw SystemError(operation(), number: Int32(-result))
  }
}
