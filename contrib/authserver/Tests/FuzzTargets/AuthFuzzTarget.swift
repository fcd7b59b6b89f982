public import FuzzTargets

/// The authentication server's own readers of bytes from outside.
public enum AuthFuzzTarget: String, Sendable, CaseIterable, FuzzedReader {
  /// The body of a request.
  case authjson
  /// Its path, its query and a form.
  case authrequest
  case authconfiguration
  /// What a balancer says of a connection.
  case authproxy
  /// What is sealed for the clients of the sample protocol.
  case authsample
  /// A file of old entries of the audit.
  case autharchive
  /// Names and patterns.
  case authnames
  /// Tokens, heads, times, addresses: short texts of a fixed form.
  case authtexts

  public func judge(_ bytes: [UInt8]) -> Verdict {
    switch self {
    case .authjson: judgeJSON(bytes)
    case .authrequest: judgeRequest(bytes)
    case .authconfiguration: judgeConfiguration(bytes)
    case .authproxy: judgeProxyHeader(bytes)
    case .authsample: judgeSample(bytes)
    case .autharchive: judgeArchive(bytes)
    case .authnames: judgeNames(bytes)
    case .authtexts: judgeTexts(bytes)
    }
  }

  public func made(_ dice: inout Dice) -> [UInt8] {
    switch self {
    case .authjson: Array(dice.body().utf8)
    case .authrequest: Array(dice.targetAndForm().utf8)
    case .authconfiguration: Array(dice.serverConfiguration().utf8)
    case .authproxy: dice.proxyHeader()
    case .authsample: Array(dice.sampleTexts().utf8)
    case .autharchive: dice.archive()
    case .authnames: Array(dice.nameAndPattern().utf8)
    case .authtexts: Array(dice.shortText().utf8)
    }
  }

  public var pieces: [String] {
    switch self {
    case .authjson, .autharchive: FuzzTarget.json.pieces
    case .authrequest: FuzzTarget.authorization.pieces + ["/", "http://", "https://", "\n", "%00"]
    case .authconfiguration:
      FuzzTarget.configuration.pieces + ["unix", "*:", "[::1]:", "/s", "12h"]
    case .authproxy: ["\u{0}", "\u{3}\u{0}\u{4}", "\u{21}\u{11}", "\r\n"]
    case .authsample: FuzzTarget.authorization.pieces + ["\n", "\"", "}", "0a"]
    case .authnames:
      Dice.oddTexts + ["*", "?", "{host}", "account:", "SAMPLE:", "ß", "\u{1E9E}", "\n"]
    case .authtexts: ["_", ":", "/", ".", "-", "+", "T", "Z", "0", "::", "%", "d", "crh1_"]
    }
  }
}

extension Verdict {
  /// What people read on a terminal is one line, in which nothing moves the cursor.
  static func isPlain(_ text: String) -> Verdict {
    let isPlain = text.unicodeScalars.allSatisfy {
      $0.properties.generalCategory != .control && $0.properties.generalCategory != .format
    }
    return .check(isPlain, "a message that does not show: \(text)")
  }
}
