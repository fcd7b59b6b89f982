internal import CredCore

/// What each error code of the protocol means to whoever started credctl.
///
/// 64: the request is wrong. 69: nothing changes until an administrator acts. 75: the same command
/// may succeed later. 77: the user must sign in, or is not allowed.
struct RefusalTable {
  struct Row {
    var status: Sysexit
    /// What to do. The daemon's messages say it where the daemon alone knows; here is what depends
    /// on being credctl.
    var advice: String?
  }

  static func row(for code: String, profile: String?) -> Row {
    let login = "'credctl login --profile \(ShellWord.quoted(profile ?? "default"))'"
    return switch ProtocolErrorCode(rawValue: code) {
    case .invalidRequest, .requestTooLarge, .unknownProfile: Row(status: .usage)
    case .unknownOperation:
      Row(status: .unavailable, advice: "credd is older than this credctl; upgrade and restart it")
    case .accessDenied: Row(status: .notPermitted, advice: "ask the administrator for access")
    case .signInRequired: Row(status: .notPermitted, advice: "sign in with \(login)")
    case .signInFailed, .backendRejected, .tokenRejected: Row(status: .notPermitted)
    case .identityConflict, .poolMisconfigured: Row(status: .unavailable)
    case .tooManyRequests: Row(status: .tryAgain, advice: "try again later")
    case .backendUnavailable, .cognitoUnavailable, .throttled, .timeout, .shuttingDown:
      Row(status: .tryAgain)
    // nil is a code that a newer credd has and this credctl has not.
    case .internal, nil: Row(status: .unavailable, advice: "see 'journalctl -u credd'")
    }
  }
}
