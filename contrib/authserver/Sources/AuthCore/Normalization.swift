import CUnistring

extension String {
  /// In Unicode's composed form (NFC).
  var composed: String {
    // A composed form is never longer than three times the text (UAX #15, 9).
    unsafe normalized(growth: 3) { unsafe auth_composed($0, $1, $2, $3) }
  }

  /// Letters of other widths, styles and positions become usual letters (NFKC).
  var compatible: String {
    unsafe normalized(growth: 11) { unsafe auth_compatible($0, $1, $2, $3) }
  }

  private func normalized(
    growth: Int,
    _ form: (
      UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int>?
    ) -> UnsafeMutablePointer<UInt8>?
  ) -> String {
    let bytes = Array(utf8)
    guard !bytes.allSatisfy({ $0 < 0x80 }) else { return self }
    var buffer = [UInt8](repeating: 0, count: bytes.count * growth)
    var count = buffer.count
    let isDone = unsafe buffer.withUnsafeMutableBufferPointer { output in
      // The function would allocate memory for a form that does not fit.
      unsafe form(bytes, bytes.count, output.baseAddress, &count) == output.baseAddress
    }
    return isDone ? String(decoding: buffer.prefix(count), as: UTF8.self) : self
  }
}
