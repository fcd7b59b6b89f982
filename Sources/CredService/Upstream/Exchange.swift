import CredCore

/// A request with the function that reads its reply.
struct Exchange<Reply> {
  let request: UpstreamRequest
  let read: (HTTPReply) throws(UpstreamFailure) -> Reply
  /// Whether the exchange is made once more after a failure, with a newly prepared request.
  var isRepeated: (UpstreamFailure) -> Bool = { _ in false }
  /// What a failure means for the call; nil where it is the call's end.
  var meaning: (UpstreamFailure) -> Reply? = { _ in nil }
}

/// A command with the function that reads its output.
struct PreparedCommand<Outcome> {
  let command: Command
  let read: (ExecOutcome) throws(UpstreamFailure) -> Outcome
}

// MARK: Lifetimes by the server's clock

extension UpstreamOutcome {
  init(_ reply: TokenReply, _ clock: any Clock) {
    self = .token(
      identityID: reply.identity, token: reply.token,
      lifetime: reply.token.lifetime(
        aws: clock.awsTime, others: [clock.wallTime] + [reply.serverTime].compactMap(\.self)))
  }

  init(_ reply: CredentialsReply, _ identityID: IdentityID?, _ clock: any Clock) {
    self = .credentials(
      reply.credentials, identityID: reply.identity ?? identityID,
      lifetime: reply.credentials.expiration - (reply.serverTime ?? clock.wallTime))
  }
}

extension Result where Failure == UpstreamFailure {
  /// The failure; nil for a success.
  var failure: UpstreamFailure? {
    if case .failure(let failure) = self { failure } else { nil }
  }
}
