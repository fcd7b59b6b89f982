import CQRCode

/// A QR code of a text.
struct QRCode {
  /// The modules row by row, true for a dark one.
  let modules: [Bool]
  /// The number of modules in a row.
  let side: Int

  /// Returns nil for a text that is too long for a code that fits terminals.
  init?(_ text: [UInt8]) {
    guard !text.isEmpty, !text.contains(0) else { return nil }
    var cells = [UInt8](repeating: 0, count: Int(CREDD_QR_MAX_SIDE * CREDD_QR_MAX_SIDE))
    defer { cells.wipe() }
    let side = unsafe (text.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { text in
      unsafe text.baseAddress.map { unsafe Int(credd_qr_encode($0, &cells)) } ?? 0
    }
    guard side > 0 else { return nil }
    self.side = side
    modules = cells[..<(side * side)].map { $0 != 0 }
  }
}
