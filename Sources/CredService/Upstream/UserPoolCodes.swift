import CredCore

/// `resend` and `forgot-password`: a user pool sends a code, and nobody learns who has an account.
///
/// An app client that hides who exists (PreventUserExistenceErrors) says of everybody where a code went: of
/// those who do not exist, it invents it. Another one says it of those who exist alone. A pool does not say
/// which it is, so it is asked for a name that nobody has, too. Where it has an answer for that name, its
/// answers are passed on, and that one stands in where it refuses: unknown, confirmed before, not permitted
/// and asked too often read alike. Where it has none, nobody is told where a code went.
extension UserPoolExchanges {
  func askForCode(
    _ action: PoolAccountCall, for user: PoolUsername,
    _ request: @escaping (PoolUsername) -> HTTPRequest
  ) {
    askForNobody(action, like: user, request) { invented in
      askForCode(
        action.ending { result in
          switch result {
          case .success(.codeSent(let delivery, _)):
            action.done(.success(.codeSent(invented == nil ? nil : delivery ?? invented)))
          case .failure(let failure) where failure.remedy == .sayDone:
            action.done(.success(.codeSent(invented, unsent: failure)))
          default: action.done(result)
          }
        }, request(user))
    }
  }

  /// Gets where a code for nobody went; nil where the pool does not invent it. It comes first: how long
  /// an answer takes depends on nobody's name.
  private func askForNobody(
    _ action: PoolAccountCall, like user: PoolUsername,
    _ request: @escaping (PoolUsername) -> HTTPRequest,
    _ done: @escaping (SignUpResult.Delivery?) -> Void
  ) {
    let name = UserPoolClient.nameOfNobody(like: user.name, salt: called.memory.saltOfNobody)
    username(name, at: action.client) { nobody in
      guard case .success(let nobody) = nobody else { return done(nil) }
      askForCode(
        action.ending { result in
          if case .success(.codeSent(let delivery, _)) = result {
            done(delivery)
          } else {
            done(nil)
          }
        }, request(nobody))
    }
  }

  private func askForCode(_ action: PoolAccountCall, _ request: HTTPRequest) {
    send(action, isSentOnce: true) { () throws(InvalidInput) in
      request
    } reading: { reply throws(UpstreamFailure) in
      .codeSent(try action.client.codeSent(from: reply))
    }
  }
}
