import CredCore
import Logging

/// `account`: the user's account at the backend. The session here stays as it is.
extension SessionService {
  func account(
    _ account: AccountRequest, _ session: Session, _ request: Request, _ client: Client,
    _ now: Instant
  ) {
    let uid = session.key.uid
    if let error = session.profile.refusal(of: account) ?? callLimitError(uid, now) {
      return refuse(error, id: request.id, client)
    }
    guard case .signUp(let signUp) = account.input, let backend = session.profile.backend else {
      preconditionFailure("the profile refuses what its backend does not do")
    }
    if let pause = accountLimiter.attempt(
      by: uid, username: signUp.username, at: backend.name, now: now)
    {
      return refuse(
        ProtocolError(
          .tooManyRequests, "too many accounts were asked for; try again later", retryAfter: pause),
        id: request.id, client)
    }
    callAllowance.spent(by: uid, now: now)
    wait(client, for: WaitingRequest(request))
    let call = SignUpCall(
      id: callIDs.next(), profile: session.profile,
      user: UnixUser(uid: uid, name: session.userName), signUp: signUp)
    // Who asks may have left before the answer.
    let asker = accountMetadata(account.input.action, signUp.username, session, client)
    host.upstream.signUp(call) { [unowned self, id = client.id] result in
      self.signUpFinished(id, call, asker, result)
    }
  }

  private func signUpFinished(
    _ id: UInt64, _ call: SignUpCall, _ asker: Logger.Metadata,
    _ result: Result<SignUpResult, UpstreamFailure>
  ) {
    let profile = call.profile.settings.name
    var metadata = asker
    if case .failure(let failure) = result { metadata["code"] = "\(failure.code.rawValue)" }
    log.log(
      .accountAction, .notice,
      (try? result.get()) == nil ? "an account was refused" : "an account was made", metadata)
    guard let client = clients[id], let waiting = client.waiting, waiting.session == nil,
      !waiting.forCaller
    else { return }
    endWait(client)
    switch result {
    case .success(let result):
      give(.signedUp(profile: profile, result), waiting.request, client)
    case .failure(let failure):
      refuse(failure.protocolError, id: waiting.request.id, client)
    }
  }
}
