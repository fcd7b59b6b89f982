internal import CredCore

/// The failure of a command: an exit status, and one line that says what to do.
public struct Failure: Error, Equatable, Sendable {
  public var status: Sysexit
  /// Lower-case, without a full stop, never a secret.
  public var message: String
  /// The protocol's error code if the daemon refused the request.
  public var code: String?
  /// A further distinction that the daemon makes.
  public var reason: String?
  /// The handle of a challenge that may be answered, or answered again.
  public var handle: String?
  /// Seconds after which the same request may succeed, where the daemon named them.
  public var retryAfter: Int?
  /// Which credd refused a profile, where a user's own hides the host's.
  public var refusedBy: String?
  /// The daemon ended before it answered, as in a restart. The next daemon may answer.
  public var isEndOfDaemon = false
  /// Whether no process listens at the socket.
  public var isAbsenceOfDaemon = false

  public init(_ status: Sysexit, _ message: String, code: String? = nil) {
    self.status = status
    self.message = message
    self.code = code
  }

  /// The line for standard error, with its newline.
  public var line: String {
    "credctl: \(PlainText.oneLine(message))\(refusedBy.map { " (\($0))" } ?? "")\n"
  }
}

extension Failure {
  /// Advises a shorter lifetime if the daemon found the request invalid. Only the lifetime in the
  /// request may be credctl's own choice.
  public var advisingShorterLifetime: Failure {
    guard code == ProtocolErrorCode.invalidRequest.rawValue else { return self }
    var failure = self
    failure.message += ": take less with '--min-ttl'"
    return failure
  }
}

extension Failure {
  /// Whether the daemon refused a `login` because it needs a password.
  public var wantsPassword: Bool {
    code == ProtocolErrorCode.signInRequired.rawValue && reason != SignInReason.derivedProfile
  }

  /// Whether the daemon refused a password, or another secret of a sign-in.
  public var isRefusedPassword: Bool {
    code == ProtocolErrorCode.signInFailed.rawValue && reason != SignInReason.passwordAccepted
  }

  /// Whether the daemon refused a `login` with only a name: because it needs a password, or because
  /// the profile has no user pool.
  public var wantsMore: Bool {
    wantsPassword
      || code == ProtocolErrorCode.invalidRequest.rawValue && reason != SignInReason.derivedProfile
  }
}

/// The exit statuses of credctl, as in sysexits(3). With them a script can distinguish "ask again
/// later" from "a person must act".
public struct Sysexit: Equatable, Sendable {
  public let code: Int32

  private init(code: Int32) {
    self.code = code
  }

  /// The answer is on standard output.
  public static let success = Sysexit(code: 0)
  /// The command line or a value in it is wrong (EX_USAGE).
  public static let usage = Sysexit(code: 64)
  /// A given file, or the content of standard input, cannot be used (EX_DATAERR).
  public static let dataError = Sysexit(code: 65)
  /// credd does not run, or an administrator must correct its configuration (EX_UNAVAILABLE).
  public static let unavailable = Sysexit(code: 69)
  /// The answer could not be written (EX_IOERR).
  public static let outputFailed = Sysexit(code: 74)
  /// The same command may succeed later (EX_TEMPFAIL).
  public static let tryAgain = Sysexit(code: 75)
  /// The user must sign in, or may not do this (EX_NOPERM).
  public static let notPermitted = Sysexit(code: 77)
  /// The user pressed Ctrl-C at a prompt; the same number as after a SIGINT in a shell.
  public static let interrupted = Sysexit(code: 130)
  /// `exec` found the command but could not run it; env(1) and shells use the same number.
  public static let cannotRun = Sysexit(code: 126)
  /// `exec` did not find the command; env(1) and shells use the same number.
  public static let notFound = Sysexit(code: 127)
}

/// An `Error` object of the protocol.
public struct Refusal: Equatable, Sendable {
  public var code: String
  public var message: String
  /// Seconds after which another attempt makes sense.
  public var retryAfter: Int?
  /// Nil if the daemon does not give it.
  public var kind: String?
  /// The upstream's name for the error.
  public var reason: String?
  /// The handle of a challenge that may be answered again.
  public var handle: String?

  public init(code: String, message: String, retryAfter: Int? = nil, kind: String? = nil) {
    self.code = code
    self.message = message
    self.retryAfter = retryAfter
    self.kind = kind
  }

  init?(_ error: JSONValue) {
    guard let code = error["Code"]?.text, let message = error["Message"]?.text else { return nil }
    let seconds = error["RetryAfter"]?.double.flatMap {
      $0 >= 0 ? Int(exactly: $0.rounded(.up)) : nil
    }
    self.init(code: code, message: message, retryAfter: seconds, kind: error["Kind"]?.text)
    reason = error["Reason"]?.text
    handle = error["Handle"]?.text
  }
}

extension Failure {
  /// The daemon's message, and what to do about it.
  public init(_ refusal: Refusal, profile: String?) {
    var row = RefusalTable.row(for: refusal.code, kind: refusal.kind, profile: profile)
    // If waiting helps, the daemon names a time. Otherwise a person must act first.
    let isUpstream = ["BackendUnavailable", "CognitoUnavailable"].contains(refusal.code)
    if isUpstream, refusal.retryAfter == nil { row.status = .unavailable }
    var message = PlainText.oneLine(refusal.message.isEmpty ? refusal.code : refusal.message)
    if let whole = Self.joined(message, row, refusal) {
      message = whole
    } else if let advice = Self.advice(refusal, row) {
      // A line has at most one colon, and none after a semicolon: otherwise the advice would seem
      // to explain only the last part.
      let isJoined = message.contains(": ") || message.contains("; ")
      message += (isJoined ? "; " : ": ") + advice
    }
    self.init(row.status, message, code: refusal.code)
    handle = refusal.handle
    reason = refusal.reason
    retryAfter = refusal.retryAfter
    isEndOfDaemon = refusal.code == ProtocolErrorCode.shuttingDown.rawValue
  }

  /// A message that asks for another sign-in, with the command in that place: the advice stands once. Nil
  /// for another message.
  private static func joined(
    _ message: String, _ row: RefusalTable.Row, _ refusal: Refusal
  ) -> String? {
    guard let advice = advice(refusal, row), advice.hasPrefix("sign in with '"),
      let range = message.firstRange(of: "sign in again")
    else { return nil }
    let (before, after) = (message[..<range.upperBound], message[range.upperBound...])
    return "\(before)\(advice.dropFirst("sign in".count))\(after)"
  }

  private static func advice(_ refusal: Refusal, _ row: RefusalTable.Row) -> String? {
    // The table would name the profile that was asked for, but the sign-in is its source's.
    guard refusal.reason != SignInReason.derivedProfile else { return nil }
    // If a person must act first, waiting alone does not help.
    if let seconds = refusal.retryAfter, row.status == .tryAgain {
      return seconds > 0 ? "ask again in \(seconds) s" : "ask again"
    }
    // The daemon knows more than the table. If its message names a command, no advice is added.
    let isTold = [
      "credctl ", "add root to allow_users", "log in to this host again", "; did you mean '",
      ProtocolError.signInElsewhere,
    ].contains { refusal.message.contains($0) }
    return isTold ? nil : row.advice
  }
}

/// The meaning of each error code of the protocol for the user of credctl.
///
/// 64: the request is wrong. 69: nothing changes until an administrator acts. 75: the same command
/// may succeed later. 77: the user must sign in, or is not allowed.
struct RefusalTable {
  struct Row {
    var status: Sysexit
    /// The advice to use if the daemon's message does not say what to do.
    var advice: String?
  }

  /// The advice for a problem that only an administrator can solve.
  private static let operators = "tell the administrator of this host"

  /// - Parameter kind: the error's kind, which decides for a code of a newer credd.
  static func row(for code: String, kind: String? = nil, profile: String?) -> Row {
    let kind = kind.flatMap(ProtocolErrorKind.init)
    var row = row(for: code, kind, profile)
    // A code may have several meanings: if a backend refuses this host, a login does not help.
    if code != ProtocolErrorCode.unknownOperation.rawValue, let status = kind?.status {
      row.status = status
    }
    if kind == .permanent, row.advice == nil { row.advice = operators }
    return row
  }

  private static func row(
    for code: String, _ kind: ProtocolErrorKind?, _ profile: String?
  ) -> Row {
    let profile = profile ?? DefaultProfile.ofDaemon
    let login = "'\(AdvisedCommand.login(profile))'"
    return switch ProtocolErrorCode(rawValue: code) {
    case .invalidRequest, .requestTooLarge, .unknownProfile: Row(status: .usage)
    case .unknownOperation:
      Row(status: .unavailable, advice: "credd is older than this credctl; upgrade and restart it")
    case .accessDenied: Row(status: .notPermitted, advice: "ask the administrator for access")
    case .signInRequired: Row(status: .notPermitted, advice: "sign in with \(login)")
    case .signInFailed, .backendRejected, .tokenRejected, .accountRefused, .unknownChallenge:
      Row(status: .notPermitted)
    case .confirmationRequired:
      Row(status: .notPermitted, advice: "confirm it with \(account("confirm", profile))")
    case .passwordResetRequired:
      Row(status: .notPermitted, advice: "begin with \(account("forgot-password", profile))")
    case .identityConflict, .poolMisconfigured, .endpointOff: Row(status: .unavailable)
    case .tooManyRequests: Row(status: .tryAgain, advice: "try again later")
    case .backendUnavailable, .cognitoUnavailable, .throttled, .timeout, .shuttingDown:
      Row(status: .tryAgain)
    case .internal: Row(status: .unavailable, advice: "see 'journalctl -u credd'")
    // A newer credd may have codes that this credctl does not know.
    case nil: row(for: kind, login)
    }
  }

  private static func account(_ action: String, _ profile: String) -> String {
    "'\(AdvisedCommand.account(action, profile))'"
  }

  private static func row(for kind: ProtocolErrorKind?, _ login: String) -> Row {
    switch kind {
    case .signIn?: Row(status: .notPermitted, advice: "sign in with \(login)")
    case let kind?: Row(status: kind.status)
    case nil: Row(status: .unavailable, advice: "see 'journalctl -u credd'")
    }
  }
}

extension ProtocolErrorKind {
  fileprivate var status: Sysexit {
    switch self {
    case .request: .usage
    case .denied, .signIn: .notPermitted
    case .temporary: .tryAgain
    case .permanent: .unavailable
    }
  }
}
