import CUnistring

extension String {
  /// In Unicode's composed form (NFC).
  var composed: String {
    let bytes = Array(utf8)
    guard !bytes.allSatisfy({ $0 < 0x80 }) else { return self }
    // A composed form is never longer than three times the text (UAX #15, 9).
    var buffer = [UInt8](repeating: 0, count: bytes.count * 3)
    var count = buffer.count
    let isDone = unsafe buffer.withUnsafeMutableBufferPointer { output in
      // What does not fit would come in memory of its own.
      unsafe auth_composed(bytes, bytes.count, output.baseAddress, &count)
        == output.baseAddress
    }
    return isDone ? String(decoding: buffer.prefix(count), as: UTF8.self) : self
  }
}
