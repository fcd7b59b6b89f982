import Glibc

/// An error of the C library, by its number. The C library has a text for each number.
public struct SystemError: Error, CustomStringConvertible {
  public let number: CInt

  public init(_ number: CInt) { self.number = number }

  /// Of the call that has just failed.
  public static var last: SystemError { SystemError(errno) }

  public var description: String { unsafe String(cString: strerror(number)) }
}

/// C's form of texts: an array of pointers, with a null pointer at its end. A text that is
/// nil becomes a null pointer too.
public func withCStrings<R>(
  _ texts: [String?], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> R
) -> R {
  var buffer: [CChar] = []
  var starts: [Int?] = []
  for text in texts {
    starts.append(text == nil ? nil : buffer.count)
    if let text { buffer += text.utf8.map { CChar(bitPattern: $0) } + [0] }
  }
  // An empty array has no address.
  buffer.append(0)
  return unsafe buffer.withUnsafeMutableBufferPointer { bytes in
    var pointers = unsafe starts.map { start in
      unsafe start.flatMap { unsafe bytes.baseAddress?.advanced(by: $0) }
    }
    unsafe pointers.append(nil)
    return unsafe body(pointers)
  }
}
