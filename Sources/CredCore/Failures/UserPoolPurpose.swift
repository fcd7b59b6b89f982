/// What a request to a user pool was for. The same error means different things: a refused password
/// asks the user again, a refused refresh token ends the session.
public enum UserPoolPurpose: Sendable, CaseIterable {
  /// A sign-in, from its beginning to the last answer.
  case signIn
  /// New tokens for a session.
  case renewal
  /// The end of a session at the pool.
  case signOut
  /// An account to be made.
  case newAccount
  /// Without a sign-in: the pool is asked to send a code.
  case codeRequest
  /// Without a sign-in: a code that the user has typed.
  case accountCode
  /// The account of the user who is signed in.
  case ownAccount
}

/// What a sign-in does about a failure, beside the session's reaction.
public enum PoolRemedy: Sendable, Equatable {
  /// The challenge stays: another answer goes out with the same Session.
  case answerAgain
  /// The pool does not know the device any more: drop it, and ask once more without it.
  case withoutDevice
  /// The access token is not accepted any more: renew the tokens, and ask once more.
  case newTokens
  /// It was done before.
  case alreadyDone
  /// To its user it is a success: what failed would tell who has an account.
  case sayDone
  /// The provider may have refused by mistake: ask once more, and then believe it.
  case onceMore
}

extension UpstreamFailure {
  /// An unsuccessful reply of a user pool.
  static func userPool(
    _ reply: HTTPReply, from upstream: Upstream, _ purpose: UserPoolPurpose
  ) -> Self {
    let error = RemoteError(json: reply, limit: Limits.UserPool.replyBytes)
    var table = FailureTable.userPool(purpose) + FailureTable.anyService
    if let error, (400..<500).contains(reply.status), reply.status != 429,
      let unknown = FailureTable.unknownUserPoolError(error.name, purpose)
    {
      table.append(unknown)
    }
    return .aws(reply, error, from: upstream, table: table)
  }

  /// VerifySoftwareToken succeeded, and says that the code is wrong.
  static func wrongSoftwareTokenCode(
    from upstream: Upstream, _ purpose: UserPoolPurpose
  ) -> Self {
    let name = "EnableSoftwareTokenMFAException"
    let row = FailureTable.userPool(purpose).first { $0.name == name }
    var failure = Self(upstream, row ?? FailureTable.malformedReply, fact: name)
    failure.reason = name
    return failure
  }
}
