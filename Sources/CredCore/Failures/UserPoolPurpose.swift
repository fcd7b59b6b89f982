/// The purpose of a request to a user pool, because the meaning of an error depends on it. After a
/// refused password the user is asked again; a refused refresh token ends the session.
public enum UserPoolPurpose: Sendable, CaseIterable {
  /// A sign-in, from its beginning to the last answer.
  case signIn
  /// New tokens for a session.
  case renewal
  /// The end of a session at the pool.
  case signOut
  /// A new account.
  case newAccount
  /// A request without a sign-in that makes the pool send a code.
  case codeRequest
  /// A request without a sign-in with a code that the user has typed.
  case accountCode
  /// The account of the user who is signed in.
  case ownAccount
  /// The end of another session of that user.
  case ownSession
}

/// The reaction of a sign-in to a failure, in addition to the session's reaction.
public enum PoolRemedy: Sendable, Equatable {
  /// The challenge stays: another answer goes out with the same Session.
  case answerAgain
  /// The pool does not know the device any more: drop it, and ask once more without it.
  case withoutDevice
  /// The pool does not accept the access token any more: renew the tokens, and ask once more.
  case newTokens
  /// The action was done before.
  case alreadyDone
  /// Report a success to the user: the failure would show who has an account.
  case sayDone
  /// The provider may have refused by mistake: ask once more, and then believe the answer.
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

  /// There is no pool of the configured id.
  public static func noSuchPool(at backend: String) -> Self {
    Self(.backend(backend), FailureTable.noSuchPool)
  }

  /// VerifySoftwareToken succeeded, but its reply says that the code is wrong.
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
