import CredCore

/// The IdentityId for which a token is asked. The server never believes a host's word about it. A
/// host's IdentityId is used only if the server's records, or Cognito, say that the user has it, or
/// that it is a guest's and the host may adopt it.
public enum IdentityChoice {
  /// What to ask Cognito first.
  public enum Question: Sendable, Equatable {
    /// The token is asked for without an IdentityId, and Cognito finds the user's.
    case none
    /// Whose the claimed identity is.
    case owner(of: String)
  }

  /// Why a claimed IdentityId was not used.
  public enum Reason: String, Sendable {
    /// The records name another one for this user.
    case recordedOther
    /// It belongs to another developer user.
    case othersIdentity
    /// It has logins, so it is nobody's to adopt.
    case hasLogins
    case adoptionNotPermitted
    case unknownToCognito
  }

  public enum Choice: Sendable, Equatable {
    case ask(identityID: String?)
    case ignore(Reason)
  }

  public static func question(claimed: String?, recorded: String?) -> Question {
    guard let claimed, recorded == nil else { return .none }
    return .owner(of: claimed)
  }

  /// Where there is a record, or no claim.
  public static func choose(claimed: String?, recorded: String?) -> Choice {
    guard let claimed, let recorded else { return .ask(identityID: nil) }
    return claimed == recorded ? .ask(identityID: nil) : .ignore(.recordedOther)
  }

  /// After Cognito was asked.
  ///
  /// - Parameters:
  ///   - owners: the developer users of the claimed identity; nil if Cognito does not know it.
  ///   - logins: the providers linked to it.
  public static func choose(
    claimed: String, for user: Identifier, owners: [String]?, logins: [String],
    mayAdoptGuests: Bool
  ) -> Choice {
    guard let owners else { return .ignore(.unknownToCognito) }
    if owners.contains(where: { $0.utf8.elementsEqual(user.text.utf8) }) {
      return .ask(identityID: claimed)
    }
    guard owners.isEmpty else { return .ignore(.othersIdentity) }
    guard logins.isEmpty else { return .ignore(.hasLogins) }
    return mayAdoptGuests ? .ask(identityID: claimed) : .ignore(.adoptionNotPermitted)
  }
}

/// The form of an IdentityId and of an IdentityPoolId, which are syntax to Cognito and to the log.
public enum CognitoSyntax {
  public static func isID(_ text: String) -> Bool {
    (try? IdentityID(text)) != nil
  }

  /// The region in a pool's or an identity's id.
  public static func region(ofID id: String) -> String { String(id.prefix { $0 != ":" }) }

  public static func isDeveloperProvider(_ text: String) -> Bool {
    (1...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { isWord($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
  }

  /// A key of the logins map and its token: what may be handed on.
  public static func areLogins(_ logins: [String: String]) -> Bool {
    logins.count <= 9
      && logins.allSatisfy { name, token in
        (1...128).contains(name.utf8.count) && (1...50_000).contains(token.utf8.count)
          && (name + token).utf8.allSatisfy { (0x21...0x7E).contains($0) }
      }
  }

  static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  static func isWord(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || isDigit(byte)
      || byte == UInt8(ascii: "_")
  }
}
