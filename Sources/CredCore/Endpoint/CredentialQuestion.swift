/// The question of a service manager in the name of its socket, if a unit has `LoadCredential=`
/// with a socket: `\0RANDOM/unit/UNIT/CREDENTIAL` (systemd.exec(5)).
///
/// Any process can bind such a name. It counts only if the kernel says that the peer is root and in
/// that unit.
public struct CredentialQuestion: Sendable, Equatable {
  public let unit: String
  /// The credential's name in the unit.
  public let credential: String

  public init(unit: String, credential: String) {
    self.unit = unit
    self.credential = credential
  }

  /// - Parameter address: `sun_path` of the peer, with the length that the kernel reports.
  public init?(_ address: [UInt8]) {
    guard address.first == 0, let name = String(validating: address.dropFirst(), as: UTF8.self)
    else { return nil }
    let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 4, (1...16).contains(parts[0].utf8.count),
      parts[0].utf8.allSatisfy(\.isHexDigit), parts[1] == "unit", parts[2].isUnitName,
      !parts[3].isEmpty
    else { return nil }
    self.init(unit: parts[2], credential: parts[3])
  }

  private static let prefix = "credd."

  /// The profile in the name of a credential `credd.PROFILE`.
  public var profile: String? {
    guard credential.hasPrefix(Self.prefix) else { return nil }
    let name = String(credential.dropFirst(Self.prefix.count))
    return name.isProfileName ? name : nil
  }
}

/// The decision to whom the token socket gives a token.
public enum TokenGrant: Sendable, Equatable {
  case token(TokenOwner, profile: String)
  /// With the reason, for the operator.
  case refused(String)

  /// Decides by the kernel's facts about the peer.
  ///
  /// - Parameters:
  ///   - address: the name of the peer's socket.
  ///   - unit: the peer's unit; nil if it has none, or if the unit is not certain.
  public init(uid: UInt32, isUnmapped: Bool, address: [UInt8], unit: String?) {
    self = Self.decide(uid, isUnmapped, CredentialQuestion(address), unit)
  }

  private static func decide(
    _ uid: UInt32, _ isUnmapped: Bool, _ question: CredentialQuestion?, _ unit: String?
  ) -> TokenGrant {
    guard !isUnmapped else { return .refused("the kernel has no uid for the caller on this host") }
    guard let question else {
      return .refused(
        "the caller is no service manager that loads a credential of a unit; units take tokens by "
          + "LoadCredential=credd.PROFILE:/run/credd-tokens/sock")
    }
    guard let profile = question.profile else {
      return .refused(
        "the credential \(question.credential.quoted) of the unit \(question.unit.quoted) must be "
          + "called credd.PROFILE, where PROFILE is the name of a profile")
    }
    // A user's own manager: the kernel vouches for the uid, but the user chooses the unit's name.
    guard uid == 0 else { return .token(.user(uid), profile: profile) }
    guard let unit, unit == question.unit else {
      return .refused(
        "the caller names the unit \(question.unit.quoted) and is in "
          + (unit.map(\.quoted) ?? "none that can be told")
          + ", for the credential \(question.credential.quoted)")
    }
    return .token(.unit(unit), profile: profile)
  }
}
