public import CredCore

/// A line typed without echo into a terminal that passes every key on.
public struct PasswordLine: Sendable {
  public enum Step: Equatable, Sendable {
    case more
    case done(Secret)
    case cancelled
  }

  private var bytes: [UInt8] = []

  public init() {}

  /// A byte has come from the terminal.
  public mutating func typed(_ byte: UInt8) -> Step {
    switch byte {
    case 0x0A, 0x0D: return .done(Secret(bytes))
    case 0x03: return .cancelled  // ^C
    case 0x04 where bytes.isEmpty: return .cancelled  // ^D
    case 0x08, 0x7F: removeCharacter()
    case 0x15: bytes.removeAll(keepingCapacity: true)  // ^U
    case 0x00..<0x20: break
    default:
      guard bytes.count < InputLimits.secret else { return .cancelled }
      bytes.append(byte)
    }
    return .more
  }

  private mutating func removeCharacter() {
    // UTF-8 continuation bytes belong to the character before them.
    while let last = bytes.popLast(), last & 0xC0 == 0x80 {}
  }
}
