import Glibc

/// What the C library says about an error number.
enum SystemError {
  static func text(of number: CInt) -> String {
    unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
  }
}
