import CLinux
import CredctlKit
import Glibc

/// Replaces this program by another one.
enum Replacement {
  /// Looks for the command in `$PATH` and becomes it. Returns only if that fails.
  ///
  /// - Parameter environment: the environment, with secrets. The kernel copies it to the new
  ///   program and frees this program's memory. If the command cannot be run, the copy made here is
  ///   wiped.
  static func failure(becoming command: [String], environment: [[UInt8]]) -> Failure {
    let words = StringVector(command.map { Array($0.utf8) })
    let variables = StringVector(environment)
    let number = unsafe -credd_become(words.pointers, variables.pointers)
    let reason = ErrorText.of(number)
    return Failure(
      number == ENOENT ? .notFound : .cannotRun, "cannot run '\(command[0])': \(reason)")
  }
}

/// Strings for execve(2), in one buffer that is wiped at the end.
@safe struct StringVector: ~Copyable {
  private let text: UnsafeMutableBufferPointer<CChar>
  private let vector: UnsafeMutableBufferPointer<UnsafePointer<CChar>?>

  init(_ strings: [[UInt8]]) {
    let size = strings.reduce(0) { $0 + $1.count + 1 }
    unsafe text = .allocate(capacity: size)
    unsafe text.initialize(repeating: 0)
    unsafe vector = .allocate(capacity: strings.count + 1)
    unsafe vector.initialize(repeating: nil)
    var position = 0
    for (index, string) in strings.enumerated() {
      unsafe vector[index] = UnsafePointer(text.baseAddress?.advanced(by: position))
      for byte in string {
        unsafe text[position] = CChar(bitPattern: byte)
        position += 1
      }
      position += 1
    }
  }

  /// The last pointer is null. They are valid while the vector lives.
  var pointers: UnsafePointer<UnsafePointer<CChar>?>? { unsafe UnsafePointer(vector.baseAddress) }

  deinit {
    unsafe credd_wipe(text.baseAddress, text.count)
    unsafe text.deallocate()
    unsafe vector.deallocate()
  }
}
