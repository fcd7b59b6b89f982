internal import CredCore
internal import Logging

extension SessionService {
  /// Passes news of a session on: to its user's watchers and to the log.
  func announce(_ announcement: Announcement, _ session: Session) {
    tellWatchers(announcement, session)
    var log = log
    log[metadataKey: "profile"] = "\(session.key.profile)"
    log[metadataKey: "uid"] = "\(session.key.uid)"
    if let name = session.userName { log[metadataKey: "user"] = "\(name)" }
    switch announcement {
    case .state(let standing):
      log.log(standing.journalEvent, .info, "session is now \(standing.name)")
    case .identityChanged(let previous?, let current?):
      log.log(
        .identityChanged, .notice, "identity changed",
        ["previous": "\(previous)", "identity": "\(current)"])
    case .identityChanged:
      break
    case .refreshed(let expiration):
      log.debug("credentials refreshed", metadata: ["expiration": "\(expiration.iso8601)"])
    case .expiring(let error):
      log.info("\(error.message)")
    case .degraded(let failure):
      say("refresh failed; the credentials at hand go on serving", failure, session, log)
    case .failed(let failure):
      say("no credentials", failure, session, log)
    }
  }

  private func say(
    _ what: String, _ failure: UpstreamFailure, _ session: Session, _ log: Logger
  ) {
    let subject = RepeatLimiter.Subject(
      event: JournalEvent.refreshFailed.rawValue, profile: session.key.profile,
      uid: session.key.uid, detail: failure.message)
    guard let repeats = failures.admit(subject, now: loop.now) else { return }
    var metadata: Logger.Metadata = ["code": "\(failure.code.rawValue)"]
    if repeats > 0 { metadata["repeats"] = "\(repeats)" }
    // A level that a person must act on is for what only a person can mend.
    log.log(
      .refreshFailed, failure.severity == .operatorMustAct ? .warning : .info,
      "\(what): \(failure.message)", metadata)
  }
}

extension Standing {
  fileprivate var journalEvent: JournalEvent {
    switch self {
    case .signedIn, .guest: .signedIn
    case .tokensInvalid: .signInNeeded
    case .signedOut: .signedOut
    }
  }
}
