import CQRCode

/// A QR code of a text.
struct QRCode {
  /// Row by row, true for a dark one.
  let modules: [Bool]
  /// Modules of a row.
  let side: Int

  /// Nil for a text that no code of a size for terminals can hold.
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
