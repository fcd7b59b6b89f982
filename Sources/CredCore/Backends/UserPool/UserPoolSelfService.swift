/// Actions of users on their own accounts, with an access token.
extension UserPoolClient {
  /// A request with an access token in its body.
  func userRequest(
    _ operation: UserPoolOperation, _ accessToken: Secret,
    _ members: (inout JSONWriter) -> Void = { _ in }
  ) -> HTTPRequest {
    request(operation) {
      $0.field("AccessToken", accessToken)
      members(&$0)
    }
  }

  /// Reads a reply that has no content.
  public func accountChanged(_ reply: HTTPReply) throws(UpstreamFailure) {
    _ = try success(reply, .ownAccount, mayBeEmpty: true)
  }

  /// GetUser.
  public func getUser(accessToken: Secret) -> HTTPRequest {
    userRequest(.getUser, accessToken)
  }

  /// Reads the reply to GetUser.
  public func user(from reply: HTTPReply) throws(UpstreamFailure) -> PoolUser {
    let object = try success(reply, .ownAccount)
    return try checked(upstream) { () throws(InvalidInput) in try PoolUser(object) }
  }

  /// ChangePassword.
  public func changePassword(
    accessToken: Secret, from old: Secret, to new: Secret
  ) throws(InvalidInput) -> HTTPRequest {
    let (old, new) = (try UserPoolInput.password(old), try UserPoolInput.password(new))
    return userRequest(.changePassword, accessToken) {
      $0.field("PreviousPassword", old)
      $0.field("ProposedPassword", new)
    }
  }

  /// UpdateUserAttributes.
  public func updateAttributes(
    accessToken: Secret, _ attributes: [NamedSecret], metadata: ClientMetadata = ClientMetadata()
  ) throws(InvalidInput) -> HTTPRequest {
    guard (1...Limits.Upstream.accountAttributes).contains(attributes.count) else {
      throw InvalidInput(
        field: "attributes",
        reason: "must be 1 to \(Limits.Upstream.accountAttributes) in number")
    }
    for attribute in attributes { _ = try UserPoolInput.attribute(attribute) }
    return userRequest(.updateUserAttributes, accessToken) {
      $0.attributes("UserAttributes", attributes)
      $0.metadata(metadata)
    }
  }

  /// Reads the reply to UpdateUserAttributes: the destinations of the codes that verify the new
  /// values.
  public func attributesUpdated(
    from reply: HTTPReply
  ) throws(UpstreamFailure) -> [SignUpResult.Delivery] {
    let object = try success(reply, .ownAccount, mayBeEmpty: true)
    guard case .array(let deliveries)? = object["CodeDeliveryDetailsList"] else { return [] }
    return deliveries.compactMap { SignUpResult.Delivery($0) }
  }

  /// DeleteUserAttributes.
  public func deleteAttributes(
    accessToken: Secret, _ names: [String]
  ) throws(InvalidInput) -> HTTPRequest {
    guard (1...Limits.Upstream.accountAttributes).contains(names.count) else {
      throw InvalidInput(
        field: "names", reason: "must be 1 to \(Limits.Upstream.accountAttributes) in number")
    }
    for name in names { _ = try UserPoolInput.attributeName(name) }
    return userRequest(.deleteUserAttributes, accessToken) {
      $0.field("UserAttributeNames", names)
    }
  }

  /// GetUserAttributeVerificationCode.
  public func getVerificationCode(
    accessToken: Secret, of attribute: String, metadata: ClientMetadata = ClientMetadata()
  ) throws(InvalidInput) -> HTTPRequest {
    let name = try UserPoolInput.attributeName(attribute)
    return userRequest(.getUserAttributeVerificationCode, accessToken) {
      $0.field("AttributeName", name)
      $0.metadata(metadata)
    }
  }

  /// Reads the reply to GetUserAttributeVerificationCode: where the code went.
  public func verificationCodeSent(
    from reply: HTTPReply
  ) throws(UpstreamFailure) -> SignUpResult.Delivery? {
    SignUpResult.Delivery(try success(reply, .ownAccount)["CodeDeliveryDetails"])
  }

  /// VerifyUserAttribute.
  public func verifyAttribute(
    accessToken: Secret, _ attribute: String, code: Secret
  ) throws(InvalidInput) -> HTTPRequest {
    let (name, code) = (
      try UserPoolInput.attributeName(attribute), try UserPoolInput.code(code)
    )
    return userRequest(.verifyUserAttribute, accessToken) {
      $0.field("AttributeName", name)
      $0.field("Code", code)
    }
  }

  /// SetUserMFAPreference. Only the named factors change.
  public func setMFAPreference(
    accessToken: Secret, _ preference: MFAPreference
  ) -> HTTPRequest {
    userRequest(.setUserMFAPreference, accessToken) { writer in
      for factor in MFAFactor.allCases {
        guard let isEnabled = preference.enabled[factor] else { continue }
        writer.field(factor.settings) {
          $0.key("Enabled")
          $0.bool(isEnabled)
          $0.key("PreferredMfa")
          $0.bool(isEnabled && preference.preferred == factor)
        }
      }
    }
  }

  /// DeleteUser.
  public func deleteUser(accessToken: Secret) -> HTTPRequest {
    userRequest(.deleteUser, accessToken)
  }
}

/// The answer of GetUser.
public struct PoolUser: Sendable, Equatable {
  public let username: String
  public let attributes: [NamedSecret]
  /// The pool's name for the second factor that it asks for.
  public let preferredMFA: String?
  public let enabledMFA: [String]

  init(_ object: JSONValue) throws(InvalidInput) {
    username = try object.requiredText("Username")
    attributes = try NamedSecret.list(in: object, "UserAttributes")
    preferredMFA = Self.factor(object["PreferredMfaSetting"])
    if case .array(let factors)? = object["UserMFASettingList"] {
      enabledMFA = factors.compactMap(Self.factor)
    } else {
      enabledMFA = []
    }
  }

  private static func factor(_ value: JSONValue?) -> String? {
    value?.text.flatMap {
      (1...Limits.UserPool.challengeNameLength).contains($0.utf8.count)
        && $0.containsOnlyLettersDigits(or: "_") ? $0 : nil
    }
  }
}

extension NamedSecret {
  /// Reads a list of `{"Name":…,"Value":…}`; none if the member is missing.
  static func list(in object: JSONValue, _ member: String) throws(InvalidInput) -> [Self] {
    guard let value = object[member], value != .null else { return [] }
    guard case .array(let elements) = value else {
      throw InvalidInput(field: member, reason: "is no list")
    }
    var attributes: [Self] = []
    for element in elements {
      let name = try element.requiredText("Name")
      attributes.append(Self(name: name, value: element["Value"]?.secret ?? Secret("")))
    }
    return attributes
  }
}

/// A second factor.
public enum MFAFactor: String, Sendable, CaseIterable {
  case sms = "SMS_MFA"
  case app = "SOFTWARE_TOKEN_MFA"
  case email = "EMAIL_OTP"

  fileprivate var settings: String {
    switch self {
    case .sms: "SMSMfaSettings"
    case .app: "SoftwareTokenMfaSettings"
    case .email: "EmailMfaSettings"
    }
  }
}

/// The second factors that a user wants.
public struct MFAPreference: Sendable, Equatable {
  /// The factors to change: on or off.
  public let enabled: [MFAFactor: Bool]
  public let preferred: MFAFactor?

  /// - Throws: if no factor would change, or if the preferred factor is not switched on in the same
  ///   request.
  public init(enabled: [MFAFactor: Bool], preferred: MFAFactor?) throws(InvalidInput) {
    guard !enabled.isEmpty else {
      throw InvalidInput(field: "enabled", reason: "names no second factor")
    }
    if let preferred, enabled[preferred] != true {
      throw InvalidInput(field: "preferred", reason: "is not among the enabled factors")
    }
    self.enabled = enabled
    self.preferred = preferred
  }
}
