public import SeededRandom

/// A reader that is fuzzed. The authentication server has readers of its own.
public protocol FuzzedReader: Sendable {
  /// Reads `bytes` once.
  func judge(_ bytes: [UInt8]) -> Verdict
  /// An input made from the reader's grammar.
  func made(_ dice: inout Dice) -> [UInt8]
  /// Of the grammar, to be put into an input.
  var pieces: [String] { get }
}

/// The readers of bytes from outside, one target each. For any bytes they must not trap, must keep
/// what the documents promise, and must come to the same answer as a second, simpler reading.
public enum FuzzTarget: String, Sendable, CaseIterable, FuzzedReader {
  case json
  /// The framer and request lines.
  case line
  case configuration
  /// Replies of Cognito, STS, an HTTP backend, a command and the sample server.
  case cognito
  case sts
  case backend
  case exec
  case sample
  /// Replies of a user pool, and a sign-in that gets them.
  case pool
  /// Replies of an OpenID Connect provider.
  case provider
  /// The query that a browser brings from one.
  case authorization
  /// The claims of a developer token.
  case token
  /// Times in headers and replies.
  case time
  /// URLs, and those with placeholders.
  case url
  /// A browser's request to the listener of a sign-in, and the address that a user pastes.
  case browser
  /// A session in the descriptor store.
  case snapshot
  /// The header and the frames of the store.
  case store
  /// The file of IdentityIds.
  case identities
  /// Requests to the endpoint.
  case endpoint

  public func judge(_ bytes: [UInt8]) -> Verdict {
    switch self {
    case .json: judgeJSON(bytes)
    case .line: judgeLines(bytes)
    case .configuration: judgeConfiguration(bytes)
    case .cognito: judgeCognitoReply(bytes)
    case .sts: judgeSTSReply(bytes)
    case .backend: judgeBackendReply(bytes)
    case .exec: judgeOutput(bytes)
    case .sample: judgeSampleReply(bytes)
    case .pool: judgePoolReply(bytes)
    case .provider: judgeProviderReply(bytes)
    case .authorization: judgeAuthorizationResponse(bytes)
    case .token: judgeToken(bytes)
    case .time: judgeTimes(bytes)
    case .url: judgeURL(bytes)
    case .browser: judgeBrowserRequest(bytes)
    case .snapshot: judgeSnapshot(bytes)
    case .store: judgeStore(bytes)
    case .identities: judgeIdentities(bytes)
    case .endpoint: judgeEndpoint(bytes)
    }
  }

  public func made(_ dice: inout Dice) -> [UInt8] {
    switch self {
    case .json:
      let text = dice.anyJSON()
      return Array(dice.written(text).utf8)
    case .line: return Array(dice.requestLines().utf8)
    case .configuration: return Array(dice.configuration().utf8)
    case .cognito: return Array(dice.cognitoReply().utf8)
    case .sts: return Array(dice.stsReply().utf8)
    case .backend: return Array(dice.backendReply().utf8)
    case .exec: return Array(dice.commandOutput().utf8)
    case .sample: return Array(dice.sampleReply().utf8)
    case .pool: return Array(dice.poolReply().utf8)
    case .provider: return Array(dice.providerReply().utf8)
    case .authorization: return Array(dice.authorizationResponse().utf8)
    case .token: return Array(dice.token().utf8)
    case .time: return Array(dice.time().utf8)
    case .url: return Array(dice.url().utf8)
    case .browser:
      return Array((dice.once(in: 4) ? dice.pastedAddress() : dice.browserRequest()).utf8)
    case .snapshot: return dice.snapshot()
    case .store: return dice.store()
    case .identities: return Array(dice.identities().utf8)
    case .endpoint: return Array(dice.endpointRequests().utf8)
    }
  }

  public var pieces: [String] {
    let json = [
      "{", "}", "[", "]", ":", ",", "\"", "\\u", "\\ud800", "null", "true", "-", "1e9", "{}",
    ]
    switch self {
    case .json, .line, .cognito, .backend, .exec, .sample, .pool, .provider:
      return json + Dice.oddTexts + ["\n", "=", "."]
    case .configuration:
      return ["[", "]", "=", "\"", "\\", ";", " #", "\n", "\r", " ", "${", "}", "{user}", ","]
        + Dice.oddTexts
    case .sts:
      return ["<", ">", "</", "/>", "&", "&amp;", "&#65;", ";", "\"", "'", "<a>", "</a>", "<?xml "]
    case .authorization:
      return ["&", "=", "%", "%26", "+", "state=", "code=", "iss=", "error=", "?", "é"]
    case .token: return [".", "=", "-", "_", "+", "/", "e30", "é"]
    case .time: return [" ", ",", ":", "-", "GMT", "Z", "+", "0", "99", "T", "."]
    case .url:
      return ["/", "?", "#", "@", ":", "[", "]", "%", "%2e", "..", "{user}", "{", "}", "é", "//"]
    case .browser:
      return ["\r\n", "\r\n\r\n", "\n", " ", ":", "?", "&", "=", "%", "+", "#", "state=", "Host: "]
    case .snapshot, .store:
      return ["\u{0}", "\u{1}\u{0}\u{0}\u{0}", "\u{8}\u{0}\u{0}\u{0}", "KM!DDERC"]
    case .endpoint:
      return [
        "\r\n", "\n", "\r", " ", ":", "GET ", "/", "HTTP/1.1", "Host: 127.0.0.1\r\n", "\r\n\r\n",
        "Authorization: ", "\u{0}", "\t", "%2F",
      ]
    case .identities: return ["\t", "\n", "%", "%41", "end 1", "user", "guest", "\u{0}", "é"]
    }
  }
}

extension FuzzedReader {
  /// `bytes` with damage, some of it with pieces of the target's grammar.
  public func damaged(_ bytes: [UInt8], _ dice: inout Dice) -> [UInt8] {
    var bytes = bytes
    let other = made(&dice)
    for _ in 0...dice.number(3) { dice.damage(&bytes, with: other, pieces: pieces) }
    return bytes
  }

  /// The input of a seed: one of the corpus or one of the grammar, as it is or damaged.
  public func input(seed: UInt64, corpus: [[UInt8]]) -> [UInt8] {
    var dice = Dice(seed: seed)
    // A reader is lost in damage: most inputs are as the grammar makes them.
    switch dice.number(8) {
    case 0..<5: return made(&dice)
    case 5 where !corpus.isEmpty:
      let bytes = dice.pick(corpus)
      return damaged(bytes, &dice)
    default:
      let bytes = made(&dice)
      return damaged(bytes, &dice)
    }
  }
}
