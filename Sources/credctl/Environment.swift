import Glibc

/// The environment of this process.
enum Environment {
  static func value(of name: String) -> String? {
    unsafe getenv(name).map { unsafe String(cString: $0) }
  }

  /// The entries in their order. They may be any bytes.
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
