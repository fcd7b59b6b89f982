import CLinux
import CredctlKit
import Glibc

/// Another program in place of this one.
enum Replacement {
  /// Becomes the command, which is found in `$PATH`; comes back only where it could not be run.
  ///
  /// - Parameter environment: it holds secrets. The kernel copies it to the new program and frees
  ///   the old one's memory; where there is no new program the copy made here is wiped.
  static func failure(becoming command: [String], environment: [[UInt8]]) -> Failure {
    let words = StringVector(command.map { Array($0.utf8) })
    let variables = StringVector(environment)
    let number = unsafe -credd_become(words.pointers, variables.pointers)
    let reason = SystemError.text(of: number)
    return Failure(
      number == ENOENT ? .notFound : .cannotRun, "cannot run '\(command[0])': \(reason)")
  }
}

/// Strings as execve(2) takes them. Their one buffer is wiped at the end.
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

  /// Ends with a null pointer; valid while the vector lives.
  var pointers: UnsafePointer<UnsafePointer<CChar>?>? { unsafe UnsafePointer(vector.baseAddress) }

  deinit {
    unsafe credd_wipe(text.baseAddress, text.count)
    unsafe text.deallocate()
    unsafe vector.deallocate()
  }
}

/// The process's environment.
enum Environment {
  static func value(of name: String) -> String? {
    unsafe getenv(name).map { unsafe String(cString: $0) }
  }

  /// Its entries as they are: whatever bytes, in their order.
  static var entries: [[UInt8]] {
    var entries: [[UInt8]] = []
    var next = unsafe environ
    while let entry = unsafe next.pointee {
      unsafe entries.append(
        Array(UnsafeRawBufferPointer(start: entry, count: strlen(entry))))
      unsafe next += 1
    }
    return entries
  }
}
