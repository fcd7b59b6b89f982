/// Actions on an account before signing in.
extension UserPoolClient {
  /// SignUp.
  ///
  /// - Throws: if Cognito would refuse the password or an attribute.
  public func signUp(
    _ signUp: SignUp, as user: PoolUsername, metadata: ClientMetadata = ClientMetadata(),
    validationData: ClientMetadata = ClientMetadata()
  ) throws(InvalidInput) -> HTTPRequest {
    let password = try UserPoolInput.password(signUp.password)
    for attribute in signUp.attributes { _ = try UserPoolInput.attribute(attribute) }
    return clientRequest(.signUp) {
      $0.user(user)
      $0.field("Password", password)
      $0.attributes("UserAttributes", signUp.attributes)
      $0.attributes(
        "ValidationData",
        validationData.entries.map { NamedSecret(name: $0.name, value: $0.value) })
      $0.metadata(metadata)
    }
  }

  /// Reads the reply to SignUp.
  public func signedUp(from reply: HTTPReply) throws(UpstreamFailure) -> SignUpResult {
    let object = try success(reply, .newAccount)
    return try checked(upstream) { () throws(InvalidInput) in
      guard let isConfirmed = object["UserConfirmed"]?.bool else {
        throw InvalidInput(field: "UserConfirmed", reason: "is missing or no boolean")
      }
      var result = SignUpResult()
      result.isConfirmed = isConfirmed
      result.delivery = SignUpResult.Delivery(object["CodeDeliveryDetails"])
      return result
    }
  }

  /// ConfirmSignUp. ForceAliasCreation is not sent, because it would take an address from another
  /// user.
  public func confirmSignUp(
    _ user: PoolUsername, code: Secret, metadata: ClientMetadata = ClientMetadata()
  ) throws(InvalidInput) -> HTTPRequest {
    let code = try UserPoolInput.code(code)
    return clientRequest(.confirmSignUp) {
      $0.user(user)
      $0.field("ConfirmationCode", code)
      $0.metadata(metadata)
    }
  }

  /// ConfirmForgotPassword.
  public func confirmForgotPassword(
    _ user: PoolUsername, code: Secret, password: Secret,
    metadata: ClientMetadata = ClientMetadata()
  ) throws(InvalidInput) -> HTTPRequest {
    let (code, password) = (
      try UserPoolInput.code(code), try UserPoolInput.password(password)
    )
    return clientRequest(.confirmForgotPassword) {
      $0.user(user)
      $0.field("ConfirmationCode", code)
      $0.field("Password", password)
      $0.metadata(metadata)
    }
  }

  /// Reads the reply to ConfirmSignUp and ConfirmForgotPassword.
  public func codeAccepted(_ reply: HTTPReply) throws(UpstreamFailure) {
    _ = try success(reply, .accountCode, mayBeEmpty: true)
  }

  /// ResendConfirmationCode.
  public func resendConfirmationCode(
    _ user: PoolUsername, metadata: ClientMetadata = ClientMetadata()
  ) -> HTTPRequest {
    clientRequest(.resendConfirmationCode) {
      $0.user(user)
      $0.metadata(metadata)
    }
  }

  /// ForgotPassword.
  public func forgotPassword(
    _ user: PoolUsername, metadata: ClientMetadata = ClientMetadata()
  ) -> HTTPRequest {
    clientRequest(.forgotPassword) {
      $0.user(user)
      $0.metadata(metadata)
    }
  }

  /// Reads the reply to ResendConfirmationCode and ForgotPassword: where the code went. That does
  /// not prove that the user exists, because a pool may invent a destination.
  public func codeSent(from reply: HTTPReply) throws(UpstreamFailure) -> SignUpResult.Delivery? {
    SignUpResult.Delivery(try success(reply, .codeRequest)["CodeDeliveryDetails"])
  }
}

extension SignUpResult.Delivery {
  /// Reads `CodeDeliveryDetails`; nil if it is empty. The pool has masked the address.
  init?(_ value: JSONValue?) {
    guard let medium = value?["DeliveryMedium"]?.text,
      let destination = value?["Destination"]?.secret.flatMap({ RemoteText.plain($0.bytes) })
    else { return nil }
    switch medium {
    case "SMS": self.init(medium: PoolChallenge.Medium.sms.rawValue, destination: destination)
    case "EMAIL": self.init(medium: PoolChallenge.Medium.email.rawValue, destination: destination)
    default: return nil
    }
  }
}
