internal import CredCore

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
