/// Which developer tokens are void before their time.
///
/// Each token carries a serial number (`jti`); revoking an identity voids all up to the latest.
struct Revocations: Sendable {
  private(set) var lastSerial = 0
  private var voidUpTo: [String: Int] = [:]
  private var allVoidUpTo = 0

  mutating func nextSerial() -> Int {
    lastSerial += 1
    return lastSerial
  }

  mutating func revoke(identity: String) { voidUpTo[identity] = lastSerial }

  mutating func revokeAll() { allVoidUpTo = lastSerial }

  func isVoid(serial: Int, of identity: String) -> Bool {
    serial <= max(allVoidUpTo, voidUpTo[identity] ?? 0)
  }
}
