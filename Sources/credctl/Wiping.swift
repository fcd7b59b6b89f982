import CLinux

extension [UInt8] {
  /// Overwrites the bytes; nobody else may share the array, or only a copy is wiped.
  mutating func wipe() {
    unsafe withUnsafeMutableBytes { unsafe credd_wipe($0.baseAddress, $0.count) }
  }
}
