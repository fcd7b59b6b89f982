import Glibc

/// A system call that failed.
package struct CallFailed: Error, CustomStringConvertible {
  package let description: String

  package init(_ call: String, _ number: Int32 = errno) {
    description = unsafe "\(call): \(String(cString: strerror(number)))"
  }
}
