internal import CredCore
internal import Logging

extension SessionService {
  /// Passes news of a session on: to its user's watchers and to the log.
  func announce(_ announcement: Announcement, _ session: Session) {
    tellWatchers(announcement, session)
    var log = log
    log[metadataKey: "profile"] = "\(session.key.profile)"
    log[metadataKey: "uid"] = "\(session.key.uid)"
    switch announcement {
    case .state(let standing):
      log.info("session is now \(standing.name)")
    case .identityChanged(let previous?, let current?):
      log.notice(
        "identity changed", metadata: ["previous": "\(previous)", "current": "\(current)"])
    case .identityChanged:
      break
    case .refreshed(let expiration):
      log.debug("credentials refreshed", metadata: ["expiration": "\(expiration.iso8601)"])
    case .expiring(let error):
      log.info("\(error.message)")
    case .degraded(let failure):
      // A level that a person must act on is for what only a person can mend.
      log.log(
        level: failure.severity == .operatorMustAct ? .warning : .info,
        "refresh failed; the credentials at hand go on serving: \(failure.message)")
    }
  }
}
