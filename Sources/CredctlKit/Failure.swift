internal import CredCore

/// Why a verb failed: an exit status, and one line that says what to do about it.
public struct Failure: Error, Equatable, Sendable {
  public var status: Sysexit
  /// Lower-case, no full stop, never a secret. What came from outside is already plain text.
  public var message: String
  /// The protocol's error code, where it was the daemon that refused.
  public var code: String?
  /// The daemon ended before it could answer, as in a restart. Its successor may answer.
  public var isEndOfDaemon = false

  public init(_ status: Sysexit, _ message: String, code: String? = nil) {
    self.status = status
    self.message = message
    self.code = code
  }

  /// The line for standard error, with its newline.
  public var line: String { "credctl: \(PlainText.oneLine(message))\n" }
}

extension Failure {
  /// The same where the lifetime that was asked for may be credctl's own choice: `get` sends none
  /// unasked, and nothing else in such a request can be invalid.
  public var advisingShorterLifetime: Failure {
    guard code == ProtocolErrorCode.invalidRequest.rawValue else { return self }
    var failure = self
    failure.message += ": take less with '--min-ttl'"
    return failure
  }
}

extension Failure {
  /// Whether a `login` that brought nothing with it was refused for want of a password.
  public var wantsPassword: Bool { code == ProtocolErrorCode.signInRequired.rawValue }
}

/// How credctl ends, in the numbers of sysexits(3), so that a script can tell "ask again later"
/// from "a person must act".
public struct Sysexit: Equatable, Sendable {
  public let code: Int32

  private init(code: Int32) {
    self.code = code
  }

  /// The answer is on standard output.
  public static let success = Sysexit(code: 0)
  /// The command line, or a value in it, is wrong (EX_USAGE).
  public static let usage = Sysexit(code: 64)
  /// A file that was handed in is not what it should be (EX_DATAERR).
  public static let dataError = Sysexit(code: 65)
  /// credd is not there, or cannot serve this until its configuration is put right
  /// (EX_UNAVAILABLE).
  public static let unavailable = Sysexit(code: 69)
  /// The answer could not be written (EX_IOERR).
  public static let outputFailed = Sysexit(code: 74)
  /// The same command may succeed later (EX_TEMPFAIL).
  public static let tryAgain = Sysexit(code: 75)
  /// The user must sign in, or may not do this (EX_NOPERM).
  public static let notPermitted = Sysexit(code: 77)
  /// `exec` found the command and could not run it, as env(1) and shells end.
  public static let cannotRun = Sysexit(code: 126)
  /// `exec` did not find the command, as env(1) and shells end.
  public static let notFound = Sysexit(code: 127)
}

/// An `Error` object of the protocol.
public struct Refusal: Equatable, Sendable {
  public var code: String
  public var message: String
  /// Seconds after which another attempt makes sense.
  public var retryAfter: Int?

  public init(code: String, message: String, retryAfter: Int? = nil) {
    self.code = code
    self.message = message
    self.retryAfter = retryAfter
  }

  init?(_ error: JSONValue) {
    guard let code = error["Code"]?.text, let message = error["Message"]?.text else { return nil }
    let seconds = error["RetryAfter"]?.double.flatMap {
      $0 >= 0 ? Int(exactly: $0.rounded(.up)) : nil
    }
    self.init(code: code, message: message, retryAfter: seconds)
  }
}

extension Failure {
  /// The daemon's message, and what to do about it.
  public init(_ refusal: Refusal, profile: String?) {
    var row = RefusalTable.row(for: refusal.code, profile: profile)
    // The daemon names a time where one helps. Without it a person must act first.
    let isUpstream = ["BackendUnavailable", "CognitoUnavailable"].contains(refusal.code)
    if isUpstream, refusal.retryAfter == nil { row.status = .unavailable }
    var message = PlainText.oneLine(refusal.message.isEmpty ? refusal.code : refusal.message)
    if let advice = Self.advice(refusal, row) {
      // One colon a line, and none behind a semicolon: it would seem to explain what stands last.
      let isJoined = message.contains(": ") || message.contains("; ")
      message += (isJoined ? "; " : ": ") + advice
    }
    self.init(row.status, message, code: refusal.code)
    isEndOfDaemon = refusal.code == ProtocolErrorCode.shuttingDown.rawValue
  }

  private static func advice(_ refusal: Refusal, _ row: RefusalTable.Row) -> String? {
    // Where a person must act first, time alone changes nothing.
    if let seconds = refusal.retryAfter, row.status == .tryAgain {
      return seconds > 0 ? "ask again in \(seconds) s" : "ask again"
    }
    // The daemon knows more than the table: a message that names a command stands alone.
    return refusal.message.contains("credctl ") ? nil : row.advice
  }
}

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
