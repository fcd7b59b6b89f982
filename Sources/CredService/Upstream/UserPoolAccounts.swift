import CredCore

/// Accounts in Cognito user pools.
extension UserPoolExchanges {
  func account(_ call: AccountCall, _ done: @escaping Completion<AccountResult>) {
    client { client in
      switch client {
      case .failure(let failure): sender.later { done(.failure(failure)) }
      case .success(let client):
        let action = PoolAccountCall(call: call, client: client, done: done)
        switch call.input {
        case .own(let input): sendOwn(input, action)
        default: sendWithoutSession(action)
        }
      }
    }
  }

  struct PoolAccountCall {
    let call: AccountCall
    let client: UserPoolClient
    let done: Completion<AccountResult>

    var token: Secret { call.signedIn?.accessToken ?? Secret("") }
    var deviceKey: String? { call.signedIn?.session.deviceKey }

    /// The same, whose result goes elsewhere.
    func ending(_ done: @escaping Completion<AccountResult>) -> PoolAccountCall {
      PoolAccountCall(call: call, client: client, done: done)
    }
  }

  // MARK: Before a sign-in

  private func sendWithoutSession(_ action: PoolAccountCall) {
    let client = action.client
    let metadata = action.call.metadata
    username(action.call.input.username ?? "", at: client) { user in
      guard case .success(let user) = user else {
        return sender.later { action.done(user.map { _ in .done }) }
      }
      switch action.call.input {
      case .signUp(let signUp):
        send(action, isSentOnce: true) { () throws(InvalidInput) in
          try client.signUp(
            signUp, as: user, metadata: metadata, validationData: action.call.validationData)
        } reading: { reply throws(UpstreamFailure) in
          .signedUp(try client.signedUp(from: reply))
        }
      case .confirm(_, let code):
        send(action, isSentOnce: true) { () throws(InvalidInput) in
          try client.confirmSignUp(user, code: code, metadata: metadata)
        } reading: { reply throws(UpstreamFailure) in
          try client.codeAccepted(reply)
          return .done
        }
      case .resetPassword(_, let code, let password):
        send(action, isSentOnce: true) { () throws(InvalidInput) in
          try client.confirmForgotPassword(
            user, code: code, password: password, metadata: metadata)
        } reading: { reply throws(UpstreamFailure) in
          try client.codeAccepted(reply)
          return .done
        }
      case .resend:
        askForCode(action, client.resendConfirmationCode(user, metadata: metadata))
      case .forgotPassword:
        askForCode(action, client.forgotPassword(user, metadata: metadata))
      case .own: preconditionFailure("the own account takes a sign-in")
      }
    }
  }

  /// The reply is the same whether or not a code was sent. It does not say where the code went: the pool
  /// invents that for an unknown name at most, and says nothing where it refuses.
  private func askForCode(_ action: PoolAccountCall, _ request: HTTPRequest) {
    let asked = action.ending { result in
      guard case .failure(let failure) = result, failure.remedy == .sayDone else {
        return action.done(result)
      }
      action.done(.success(.codeSent(nil, unsent: failure)))
    }
    send(asked, isSentOnce: true) { () throws(InvalidInput) in
      request
    } reading: { reply throws(UpstreamFailure) in
      _ = try action.client.codeSent(from: reply)
      return .codeSent(nil)
    }
  }

  // MARK: The own account

  private func sendOwn(_ input: OwnAccountInput, _ action: PoolAccountCall) {
    let (client, token) = (action.client, action.token)
    switch input {
    case .get:
      send(action, isSentOnce: false) { () throws(InvalidInput) in
        client.getUser(accessToken: token)
      } reading: { reply throws(UpstreamFailure) in
        .user(try client.user(from: reply))
      }
    case .changePassword(let old, let new):
      sendChange(action) { () throws(InvalidInput) in
        try client.changePassword(accessToken: token, from: old, to: new)
      }
    case .setAttributes, .verifyAttribute, .deleteAttributes: sendAttributes(input, action)
    case .delete:
      sendChange(action) { () throws(InvalidInput) in client.deleteUser(accessToken: token) }
    case .mfa(let choice): sendFactors(choice, action)
    case .totp(let code, let name): setUpApp(code, name, action)
    case .devices, .rememberDevice, .forgetDevice: device(input, action)
    case .sessions(let place):
      listSessions(action, after: place) { action.done($0.map { .sessions($0) }) }
    case .endSession(let id): endOther(id, action)
    }
  }

  private func sendAttributes(_ input: OwnAccountInput, _ action: PoolAccountCall) {
    let (client, token) = (action.client, action.token)
    switch input {
    case .setAttributes(let attributes):
      send(action, isSentOnce: true) { () throws(InvalidInput) in
        try client.updateAttributes(
          accessToken: token, attributes, metadata: action.call.metadata)
      } reading: { reply throws(UpstreamFailure) in
        .codeSent(try client.attributesUpdated(from: reply).first)
      }
    case .verifyAttribute(let name, nil):
      send(action, isSentOnce: true) { () throws(InvalidInput) in
        try client.getVerificationCode(
          accessToken: token, of: name, metadata: action.call.metadata)
      } reading: { reply throws(UpstreamFailure) in
        .codeSent(try client.verificationCodeSent(from: reply))
      }
    case .verifyAttribute(let name, let code?):
      sendChange(action) { () throws(InvalidInput) in
        try client.verifyAttribute(accessToken: token, name, code: code)
      }
    case .deleteAttributes(let names):
      sendChange(action) { () throws(InvalidInput) in
        try client.deleteAttributes(accessToken: token, names)
      }
    default: preconditionFailure("the others are not about attributes")
    }
  }

  /// Names only the factors that change: a pool refuses factors that it does not have.
  private func sendFactors(_ choice: MFAChoice, _ action: PoolAccountCall) {
    let (client, token) = (action.client, action.token)
    let present = exchange(
      client.getUser(accessToken: token), client, secrets: [token],
      operation: AccountAction.get.rawValue
    ) { reply throws(UpstreamFailure) in try client.user(from: reply) }
    called.send(present) { user in
      do throws(UpstreamFailure) {
        let user = try user.get()
        let change = try upstream.checked { () throws(InvalidInput) in
          try choice.change(from: user)
        }
        guard let change else { return action.done(.success(.done)) }
        sendChange(action) { () throws(InvalidInput) in
          client.setMFAPreference(accessToken: token, change)
        }
      } catch {
        action.done(.failure(error))
      }
    }
  }

  private func setUpApp(_ code: Secret?, _ name: String?, _ action: PoolAccountCall) {
    let client = action.client
    let owner = SoftwareTokenOwner.user(accessToken: action.token)
    let username = action.call.signedIn?.session.username ?? ""
    send(action, isSentOnce: true) { () throws(InvalidInput) in
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

  private func device(_ input: OwnAccountInput, _ action: PoolAccountCall) {
    let (client, token, own) = (action.client, action.token, action.deviceKey)
    switch input {
    case .rememberDevice(let key, let isRemembered):
      sendChange(action) { () throws(InvalidInput) in
        try client.updateDevice(
          accessToken: token, key: key ?? own ?? "", isRemembered: isRemembered)
      }
    case .forgetDevice(let key):
      sendChange(action) { () throws(InvalidInput) in
        try client.forgetDevice(accessToken: token, key: key ?? own ?? "")
      }
    case .devices(let place):
      send(action, isSentOnce: false) { () throws(InvalidInput) in
        client.listDevices(accessToken: token, after: place)
      } reading: { reply throws(UpstreamFailure) in
        .devices(try client.devices(from: reply), own: own)
      }
    default: preconditionFailure("the others are not about devices")
    }
  }

  // MARK: Requests

  /// Sends a change whose reply has no content.
  private func sendChange(
    _ action: PoolAccountCall, _ request: () throws(InvalidInput) -> HTTPRequest
  ) {
    send(action, isSentOnce: true, request) { reply throws(UpstreamFailure) in
      try action.client.accountChanged(reply)
      return .done
    }
  }

  /// - Parameter isSentOnce: for what changes something, makes the pool send a message, or judges a
  ///   secret: the connection is a new one then.
  private func send(
    _ action: PoolAccountCall, isSentOnce: Bool, _ request: () throws(InvalidInput) -> HTTPRequest,
    reading read: @escaping (HTTPReply) throws(UpstreamFailure) -> AccountResult
  ) {
    let client = action.client
    do throws(UpstreamFailure) {
      let request = try upstream.checked(request)
      let secrets =
        action.call.input.secrets + action.call.metadata.secrets
        + action.call.validationData.secrets + [action.token].filter { !$0.isEmpty }
      called.send(
        exchange(
          request, client, secrets: secrets, isSentOnce: isSentOnce,
          operation: action.call.input.action.rawValue, read: read),
        action.done)
    } catch {
      sender.later { action.done(.failure(error)) }
    }
  }
}
