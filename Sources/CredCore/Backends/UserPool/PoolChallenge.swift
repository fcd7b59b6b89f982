/// The names of the challenges that credd knows.
enum ChallengeName: String, Sendable {
  case passwordVerifier = "PASSWORD_VERIFIER"
  case deviceSRP = "DEVICE_SRP_AUTH"
  case devicePasswordVerifier = "DEVICE_PASSWORD_VERIFIER"
  case smsMFA = "SMS_MFA"
  case smsCode = "SMS_OTP"
  case emailCode = "EMAIL_OTP"
  case appCode = "SOFTWARE_TOKEN_MFA"
  case mfaType = "SELECT_MFA_TYPE"
  case mfaSetup = "MFA_SETUP"
  case newPassword = "NEW_PASSWORD_REQUIRED"
  case choice = "SELECT_CHALLENGE"
  case password = "PASSWORD"
  case passwordSRP = "PASSWORD_SRP"
  case passkey = "WEB_AUTHN"
  case administrator = "ADMIN_NO_SRP_AUTH"

  /// The challenges that a user may choose and credd can answer.
  static let choices: Set<ChallengeName> = [.password, .passwordSRP, .emailCode, .smsCode]

  /// Whether a user may choose a second factor by this name: a name that credd does not know becomes a
  /// question to the user.
  static func mayAnswer(_ factor: String) -> Bool { ChallengeName(rawValue: factor) != .passkey }
}

/// A challenge of a user pool, before it gives tokens.
public struct PoolChallenge: Sendable, Equatable {
  /// The prefix in requiredAttributes and in the names of the answers.
  static let attributePrefix = "userAttributes."

  /// The medium by which a code arrives.
  public enum Medium: String, Sendable {
    case sms
    case email
    /// An authenticator app.
    case app
  }

  public enum Kind: Sendable, Equatable {
    /// PASSWORD_VERIFIER. `userID` is USER_ID_FOR_SRP.
    case passwordVerifier(SRPChallenge, userID: String)
    /// DEVICE_SRP_AUTH.
    case deviceSRP
    /// DEVICE_PASSWORD_VERIFIER.
    case devicePasswordVerifier(SRPChallenge)
    /// A code that the pool sends, or that an app shows.
    case code(Medium, destination: String?)
    /// SELECT_MFA_TYPE: second factors to choose from.
    case mfaType([String])
    /// MFA_SETUP: second factors that the user may set up.
    case mfaSetup([String])
    /// NEW_PASSWORD_REQUIRED: the attributes that the user must also give, and the known ones.
    case newPassword(required: [String], attributes: [NamedSecret])
    /// SELECT_CHALLENGE: ways to sign in, to choose from.
    case choice([String])
    /// PASSWORD.
    case password
    /// PASSWORD_SRP.
    case passwordSRP
    /// CUSTOM_CHALLENGE, or a challenge that credd does not know, with all parameters.
    case custom([NamedSecret])
    /// A known challenge that credd cannot answer: WEB_AUTHN and ADMIN_NO_SRP_AUTH.
    case unsupported
  }

  /// The pool's name for the challenge.
  public let name: String
  public let kind: Kind
  /// The Session, which goes back with the answer. Nil if the reply had none.
  public let session: Secret?
  /// USERNAME: the name for all further requests of this sign-in; nil if the reply had none.
  public let username: String?
}

extension PoolChallenge {
  /// Reads `ChallengeName`, `ChallengeParameters`, `Session` and `AvailableChallenges`.
  init(_ reply: JSONValue) throws(InvalidInput) {
    name = try reply.requiredText("ChallengeName")
    guard name.utf8.count <= Limits.UserPool.challengeNameLength,
      name.containsOnlyLettersDigits(or: "_-")
    else {
      throw InvalidInput(field: "ChallengeName", reason: "is no name")
    }
    session = try Self.session(in: reply)
    let parameters = try Parameters(reply)
    kind = try Self.kind(name, parameters, reply)
    // A proof uses the immutable name, so the answer with the proof uses that name too.
    let userID = try parameters.username("USER_ID_FOR_SRP")
    username = try parameters.username("USERNAME") ?? userID
  }

  static func session(in reply: JSONValue) throws(InvalidInput) -> Secret? {
    try reply["Session"].token("Session", upTo: Limits.UserPool.sessionBytes)
  }

  private static func kind(
    _ name: String, _ parameters: Parameters, _ reply: JSONValue
  ) throws(InvalidInput) -> Kind {
    switch ChallengeName(rawValue: name) {
    case .passwordVerifier:
      guard let userID = try parameters.username("USER_ID_FOR_SRP") else {
        throw InvalidInput(field: "USER_ID_FOR_SRP", reason: "is missing")
      }
      return .passwordVerifier(try parameters.srp, userID: userID)
    case .deviceSRP: return .deviceSRP
    case .devicePasswordVerifier: return .devicePasswordVerifier(try parameters.srp)
    case .smsMFA, .smsCode: return .code(.sms, destination: parameters.destination)
    case .emailCode: return .code(.email, destination: parameters.destination)
    case .appCode: return .code(.app, destination: nil)
    case .mfaType: return .mfaType(try parameters.list("MFAS_CAN_CHOOSE"))
    case .mfaSetup: return .mfaSetup(try parameters.list("MFAS_CAN_SETUP"))
    case .newPassword:
      let required = try parameters.list("requiredAttributes").map {
        $0.hasPrefix(attributePrefix) ? String($0.dropFirst(attributePrefix.count)) : $0
      }
      return .newPassword(required: required, attributes: try parameters.object("userAttributes"))
    case .choice:
      return .choice(try Parameters.names(in: reply["AvailableChallenges"], "AvailableChallenges"))
    case .password: return .password
    case .passwordSRP: return .passwordSRP
    case .passkey, .administrator: return .unsupported
    case nil: return .custom(parameters.all)
    }
  }
}

/// `ChallengeParameters`: texts by name.
private struct Parameters {
  private static let mostNames = 128

  let all: [NamedSecret]

  /// - Throws: if a value is no string.
  init(_ reply: JSONValue) throws(InvalidInput) {
    guard let value = reply["ChallengeParameters"], value != .null else {
      all = []
      return
    }
    guard case .object(let members) = value else {
      throw InvalidInput(field: "ChallengeParameters", reason: "is no object")
    }
    var all: [NamedSecret] = []
    // A trigger may leave a value out with null.
    for member in members where member.value != .null {
      guard let text = member.value.secret else {
        throw InvalidInput(field: "ChallengeParameters", reason: "holds a value that is no string")
      }
      all.append(NamedSecret(name: member.key, value: text))
    }
    self.all = all
  }

  subscript(_ name: String) -> Secret? {
    all.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
  }

  /// Returns nil if the name is missing or empty.
  func username(_ name: String) throws(InvalidInput) -> String? {
    guard let value = self[name], !value.isEmpty else { return nil }
    guard let text = value.exposedText().flatMap({ try? UserPoolInput.username($0) }) else {
      throw InvalidInput(field: name, reason: "is no user name")
    }
    return text
  }

  var srp: SRPChallenge {
    get throws(InvalidInput) {
      do throws(SRPError) {
        return try SRPChallenge(
          salt: self["SALT"], serverValue: self["SRP_B"], secretBlock: self["SECRET_BLOCK"])
      } catch {
        throw error.asInput
      }
    }
  }

  /// The destination of a code, masked by the pool.
  var destination: String? {
    self["CODE_DELIVERY_DESTINATION"].flatMap { RemoteText.plain($0.bytes) }
  }

  /// A list that is JSON within a string; empty if it is missing.
  func list(_ name: String) throws(InvalidInput) -> [String] {
    guard let text = self[name], !text.isEmpty else { return [] }
    guard let value = try? JSONValue.parse(text.bytes) else {
      throw InvalidInput(field: name, reason: "is no JSON")
    }
    return try Self.names(in: value, name)
  }

  static func names(in value: JSONValue?, _ name: String) throws(InvalidInput) -> [String] {
    guard let value, value != .null else { return [] }
    guard case .array(let elements) = value, elements.count <= mostNames else {
      throw InvalidInput(field: name, reason: "is no list of at most \(mostNames) names")
    }
    var names: [String] = []
    for element in elements {
      guard let text = element.text,
        (1...Limits.UserPool.challengeNameLength).contains(text.utf8.count),
        text.utf8.allSatisfy(\.isVisible)
      else {
        throw InvalidInput(field: name, reason: "holds something that is no name")
      }
      names.append(text)
    }
    return names
  }

  /// An object that is JSON within a string; empty if it is missing. Values that are no strings are
  /// left out.
  func object(_ name: String) throws(InvalidInput) -> [NamedSecret] {
    guard let text = self[name], !text.isEmpty else { return [] }
    guard case .object(let members)? = try? JSONValue.parse(text.bytes) else {
      throw InvalidInput(field: name, reason: "is no JSON object")
    }
    return members.compactMap { member in
      member.value.secret.map { NamedSecret(name: member.key, value: $0) }
    }
  }
}
