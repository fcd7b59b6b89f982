internal import CLinux
internal import Glibc

/// A failed system call: which one, and the errno.
public struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What was attempted, as a person would say it: `bind /run/credd/credd.sock`.
  public var operation: String
  /// The errno value.
  public var number: Int32

  public init(_ operation: String, number: Int32) {
    self.operation = operation
    self.number = number
  }

  public var description: String {
    unsafe "\(operation): \(String(cString: strerror(number)))"
  }

  /// Turns the `-errno` convention of the C shims and libsystemd into a typed error.
  @discardableResult
  static func check<Value: SignedInteger>(
    _ result: Value, _ operation: @autoclosure () -> String
  ) throws(SystemError) -> Value {
    guard result < 0 else { return result }
    throw SystemError(operation(), number: Int32(-result))
  }
}
