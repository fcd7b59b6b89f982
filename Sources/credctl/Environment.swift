import Glibc

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
