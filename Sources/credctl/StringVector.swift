import CLinux

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
