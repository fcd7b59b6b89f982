/// The user or unit to whom an endpoint token was given.
public enum TokenOwner: Sendable, Hashable {
  /// Every process of a user.
  case user(UInt32)
  /// A unit of the host's service manager, such as `billing.service`, under any user.
  case unit(String)

  var kind: UInt8 {
    switch self {
    case .user: UInt8(ascii: "u")
    case .unit: UInt8(ascii: "s")
    }
  }

  var name: [UInt8] {
    switch self {
    case .user(let uid): Array(String(uid).utf8)
    case .unit(let unit): Array(unit.utf8)
    }
  }
}
