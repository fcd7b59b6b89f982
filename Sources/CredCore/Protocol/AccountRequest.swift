/// `account`: what a user does with the account at the backend, not with the session here.
public struct AccountRequest: Sendable, Equatable {
  public var profile: String
  public var input: AccountInput

  public init(profile: String = ProfileName.default, input: AccountInput) {
    self.profile = profile
    self.input = input
  }
}

public enum AccountInput: Sendable, Equatable {
  case signUp(SignUp)
  /// An action that no type of backend offers yet. Its keys are not read.
  case notOffered(AccountAction)

  public var action: AccountAction {
    switch self {
    case .signUp: .signUp
    case .notOffered(let action): action
    }
  }
}

/// The values of `action`.
public enum AccountAction: String, Sendable, CaseIterable {
  case signUp = "sign-up"
  case confirm
  case resend
  case forgotPassword = "forgot-password"
  case resetPassword = "reset-password"
  case get
  case changePassword = "change-password"
  case setAttributes = "set-attributes"
  case verifyAttribute = "verify-attribute"
  case deleteAttributes = "delete-attributes"
  case mfa
  case totp
  case devices
  case rememberDevice = "remember-device"
  case forgetDevice = "forget-device"
  case delete
}

/// An account to be made.
public struct SignUp: Sendable, Equatable {
  public struct Attribute: Sendable, Equatable {
    public let name: String
    public let value: Secret

    public init(name: String, value: Secret) {
      self.name = name
      self.value = value
    }
  }

  public let username: String
  public let password: Secret
  public let attributes: [Attribute]

  public init(username: String, password: Secret, attributes: [Attribute] = []) {
    self.username = username
    self.password = password
    self.attributes = attributes
  }

  /// What must not come back in a message.
  public var secrets: [Secret] { [password] + attributes.map(\.value) }
}

/// What a backend answers to a sign-up.
public struct SignUpResult: Sendable, Equatable {
  /// Whether the user may sign in now.
  public var isConfirmed = true
  /// Where a code for the confirmation went, in the backend's words.
  public var delivery: Delivery?

  public struct Delivery: Sendable, Equatable {
    public let medium: String
    public let destination: String
  }

  public init() {}
}

extension AccountRequest {
  init(_ object: RequestObject) throws(ProtocolError) {
    let names = AccountAction.allCases.map(\.rawValue)
    guard let text = try object.text("action") else {
      throw .invalid(#""account" needs "action", such as "sign-up""#)
    }
    guard let action = AccountAction(rawValue: text) else {
      throw .invalid(
        "unknown action \(text.quoted)"
          + (NearestName.of(text, in: names).map { #", did you mean "\#($0)"?"# } ?? ""))
    }
    let profile = try object.profile()
    guard action == .signUp else {
      self.init(profile: profile, input: .notOffered(action))
      return
    }
    let keys = ["op", "id", "purpose", "profile", "action", "username", "password", "attributes"]
    try object.checkKeys(among: keys, of: #"action "sign-up""#)
    self.init(
      profile: profile,
      input: .signUp(
        SignUp(
          username: try object.username(), password: try object.password(),
          attributes: try object["attributes"].map {
            (value: JSONValue) throws(ProtocolError) -> [SignUp.Attribute] in
            try RequestObject.attributes(value, upTo: Limits.Upstream.attributeBytes)
          } ?? [])))
  }
}

extension RequestObject {
  /// Texts by the names of attributes.
  ///
  /// - Parameter longest: bytes of a text.
  static func attributes(
    _ value: JSONValue, upTo longest: Int
  ) throws(ProtocolError) -> [SignUp.Attribute] {
    guard case .object(let members) = value, members.count <= Limits.Upstream.accountAttributes
    else {
      throw .invalid(
        "\"attributes\" must be an object of at most \(Limits.Upstream.accountAttributes) texts")
    }
    var attributes: [SignUp.Attribute] = []
    for member in members {
      let place = "attribute \(member.key.quoted) at byte \(member.keyOffset)"
      guard (1...Limits.Upstream.attributeNameBytes).contains(member.key.utf8.count),
        member.key.utf8.allSatisfy(\.isVisible)
      else {
        throw .invalid(
          "\(place) must have a name of 1 to \(Limits.Upstream.attributeNameBytes) printable "
            + "ASCII characters")
      }
      guard let text = member.value.secret, text.count <= longest else {
        throw .invalid(
          "\(place) must be a string of at most \(longest) bytes")
      }
      attributes.append(SignUp.Attribute(name: member.key, value: text))
    }
    return attributes
  }
}
