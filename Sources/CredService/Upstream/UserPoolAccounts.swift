import CredCore

/// Accounts in Cognito user pools.
extension UserPoolExchanges {
  func account(_ call: AccountCall) throws(Unprepared) -> Prepared<AccountResult> {
    let action = PoolAccountCall(call: call, client: try client())
    if case .own(let input) = call.input { return try own(input, action) }
    return try withoutSession(action)
  }

  struct PoolAccountCall {
    let call: AccountCall
    let client: UserPoolClient

    var token: Secret { call.signedIn?.accessToken ?? Secret("") }
    var deviceKey: String? { call.signedIn?.session.deviceKey }
  }

  // MARK: Before a sign-in

  private func withoutSession(
    _ action: PoolAccountCall
  ) throws(Unprepared) -> Prepared<AccountResult> {
    let (client, metadata) = (action.client, action.call.metadata)
    let user = try username(action.call.input.username ?? "", at: client)
    switch action.call.input {
    case .signUp(let signUp):
      return try exchange(action) { () throws(InvalidInput) in
        try client.signUp(
          signUp, as: user, metadata: metadata, validationData: action.call.validationData)
      } reading: { reply throws(UpstreamFailure) in
        .signedUp(try client.signedUp(from: reply))
      }
    case .confirm(_, let code):
      return try exchange(action) { () throws(InvalidInput) in
        try client.confirmSignUp(user, code: code, metadata: metadata)
      } reading: { reply throws(UpstreamFailure) in
        try client.codeAccepted(reply)
        return .done
      }
    case .resetPassword(_, let code, let password):
      return try exchange(action) { () throws(InvalidInput) in
        try client.confirmForgotPassword(user, code: code, password: password, metadata: metadata)
      } reading: { reply throws(UpstreamFailure) in
        try client.codeAccepted(reply)
        return .done
      }
    case .resend: return code(action, client.resendConfirmationCode(user, metadata: metadata))
    case .forgotPassword: return code(action, client.forgotPassword(user, metadata: metadata))
    case .own: preconditionFailure("the own account takes a sign-in")
    }
  }

  /// The reply is the same whether or not a code was sent. It does not say where the code went: the pool
  /// invents that for an unknown name at most, and says nothing where it refuses.
  private func code(_ action: PoolAccountCall, _ http: HTTPRequest) -> Prepared<AccountResult> {
    let client = action.client
    var exchange = Exchange<AccountResult>(request: request(http, action)) {
      reply throws(UpstreamFailure) in
      _ = try client.codeSent(from: reply)
      return .codeSent(nil)
    }
    exchange.meaning = { $0.remedy == .sayDone ? .codeSent(nil, unsent: $0) : nil }
    return .exchange(exchange)
  }

  // MARK: The own account

  private func own(
    _ input: OwnAccountInput, _ action: PoolAccountCall
  ) throws(Unprepared) -> Prepared<AccountResult> {
    let (client, token) = (action.client, action.token)
    switch input {
    case .get:
      return try exchange(action, isSentOnce: false) { () throws(InvalidInput) in
        client.getUser(accessToken: token)
      } reading: { reply throws(UpstreamFailure) in
        .user(try client.user(from: reply))
      }
    case .changePassword(let old, let new):
      return try change(action) { () throws(InvalidInput) in
        try client.changePassword(accessToken: token, from: old, to: new)
      }
    case .setAttributes, .verifyAttribute, .deleteAttributes: return try attributes(input, action)
    case .delete:
      return try change(action) { () throws(InvalidInput) in
        client.deleteUser(accessToken: token)
      }
    case .mfa(let choice): return factors(choice, action)
    case .totp(let code, let name): return try app(code, name, action)
    case .devices, .rememberDevice, .forgetDevice: return try device(input, action)
    case .sessions(let place): return sessionList(action, after: place)
    case .endSession(let id): return endOther(id, action)
    }
  }

  private func attributes(
    _ input: OwnAccountInput, _ action: PoolAccountCall
  ) throws(Unprepared) -> Prepared<AccountResult> {
    let (client, token, metadata) = (action.client, action.token, action.call.metadata)
    switch input {
    case .setAttributes(let attributes):
      return try exchange(action) { () throws(InvalidInput) in
        try client.updateAttributes(accessToken: token, attributes, metadata: metadata)
      } reading: { reply throws(UpstreamFailure) in
        .codeSent(try client.attributesUpdated(from: reply).first)
      }
    case .verifyAttribute(let name, nil):
      return try exchange(action) { () throws(InvalidInput) in
        try client.getVerificationCode(accessToken: token, of: name, metadata: metadata)
      } reading: { reply throws(UpstreamFailure) in
        .codeSent(try client.verificationCodeSent(from: reply))
      }
    case .verifyAttribute(let name, let code?):
      return try change(action) { () throws(InvalidInput) in
        try client.verifyAttribute(accessToken: token, name, code: code)
      }
    case .deleteAttributes(let names):
      return try change(action) { () throws(InvalidInput) in
        try client.deleteAttributes(accessToken: token, names)
      }
    default: preconditionFailure("the others are not about attributes")
    }
  }

  /// Names only the factors that change: a pool refuses factors that it does not have.
  private func factors(_ choice: MFAChoice, _ action: PoolAccountCall) -> Prepared<AccountResult> {
    let (client, token) = (action.client, action.token)
    let present = request(
      client.getUser(accessToken: token), client, secrets: [token],
      operation: AccountAction.get.rawValue)
    return .part(
      Exchange(request: present) { reply throws(UpstreamFailure) in
        let user = try client.user(from: reply)
        return Preparation { _ throws(Unprepared) in try factors(choice, of: user, action) }
      })
  }

  private func factors(
    _ choice: MFAChoice, of user: PoolUser, _ action: PoolAccountCall
  ) throws(Unprepared) -> Prepared<AccountResult> {
    let change = try upstream.checked { () throws(InvalidInput) in try choice.change(from: user) }
    guard let change else { return .outcome(.done) }
    return try self.change(action) { () throws(InvalidInput) in
      action.client.setMFAPreference(accessToken: action.token, change)
    }
  }

  private func app(
    _ code: Secret?, _ name: String?, _ action: PoolAccountCall
  ) throws(Unprepared) -> Prepared<AccountResult> {
    let client = action.client
    let owner = SoftwareTokenOwner.user(accessToken: action.token)
    let username = action.call.signedIn?.session.username ?? ""
    return try exchange(action) { () throws(InvalidInput) in
      guard let code else { return client.associateSoftwareToken(of: owner) }
      return try client.verifySoftwareToken(of: owner, code: code, name: name)
    } reading: { reply throws(UpstreamFailure) in
      guard code == nil else {
        _ = try client.softwareTokenVerified(from: reply, of: owner)
        return .done
      }
      let token = try client.softwareToken(from: reply, of: owner)
      return .softwareToken(
        secret: token.secret, uri: token.uri(issuer: client.backend, username: username))
    }
  }

  private func device(
    _ input: OwnAccountInput, _ action: PoolAccountCall
  ) throws(Unprepared) -> Prepared<AccountResult> {
    let (client, token, own) = (action.client, action.token, action.deviceKey)
    switch input {
    case .rememberDevice(let key, let isRemembered):
      return try change(action) { () throws(InvalidInput) in
        try client.updateDevice(
          accessToken: token, key: key ?? own ?? "", isRemembered: isRemembered)
      }
    case .forgetDevice(let key):
      return try change(action) { () throws(InvalidInput) in
        try client.forgetDevice(accessToken: token, key: key ?? own ?? "")
      }
    case .devices(let place):
      return try exchange(action, isSentOnce: false) { () throws(InvalidInput) in
        client.listDevices(accessToken: token, after: place)
      } reading: { reply throws(UpstreamFailure) in
        .devices(try client.devices(from: reply), own: own)
      }
    default: preconditionFailure("the others are not about devices")
    }
  }

  // MARK: Requests

  /// A change whose reply has no content.
  private func change(
    _ action: PoolAccountCall, _ http: () throws(InvalidInput) -> HTTPRequest
  ) throws(Unprepared) -> Prepared<AccountResult> {
    let client = action.client
    return try exchange(action, http) { reply throws(UpstreamFailure) in
      try client.accountChanged(reply)
      return .done
    }
  }

  private func exchange(
    _ action: PoolAccountCall, isSentOnce: Bool = true,
    _ http: () throws(InvalidInput) -> HTTPRequest,
    reading read: @escaping (HTTPReply) throws(UpstreamFailure) -> AccountResult
  ) throws(Unprepared) -> Prepared<AccountResult> {
    let http = try upstream.checked(http)
    return .exchange(
      Exchange(request: request(http, action, isSentOnce: isSentOnce), read: read))
  }

  /// - Parameter isSentOnce: for what changes something, makes the pool send a message, or judges a
  ///   secret: the connection is a new one then.
  private func request(
    _ http: HTTPRequest, _ action: PoolAccountCall, isSentOnce: Bool = true
  ) -> UpstreamRequest {
    let call = action.call
    let secrets =
      call.input.secrets + call.metadata.secrets + call.validationData.secrets
      + [action.token].filter { !$0.isEmpty }
    return request(
      http, action.client, secrets: secrets, isSentOnce: isSentOnce,
      operation: call.input.action.rawValue)
  }
}
