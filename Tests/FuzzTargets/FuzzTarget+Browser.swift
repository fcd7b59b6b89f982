import CredCore

/// A browser's request to the listener of a sign-in.
extension FuzzTarget {
  static let browserState = "s7~T/a+b%c-0123456789"
  static let browserStart = "/start/0123456789abcdef0123456789abcdef"
  static let browserURI = "http://localhost:8976/credd/back"

  func judgeBrowserRequest(_ bytes: [UInt8]) -> Verdict {
    guard
      let back = BrowserReturn(
        redirectURI: Self.browserURI, state: Secret(Self.browserState),
        start: Secret(Self.browserStart))
    else { return .fault("the redirect URI is refused") }
    let step = BrowserRequest.read(bytes)
    let second = SecondBrowser(bytes).shown(back: Self.browserURI)
    let isRefusedEarly = step == .refused && second == "more"
    return .all([
      isRefusedEarly
        ? judgeEndings(of: bytes) : .of("a request", shown(step, back), second),
      judgePieces(bytes, step), judgePasted(bytes),
    ])
  }

  /// A head without an end may be refused at any byte, but only if no end makes it a request.
  private func judgeEndings(of bytes: [UInt8]) -> Verdict {
    let endings = [
      "", "T", "T / HTTP/1.1", " / HTTP/1.1", "/ HTTP/1.1", " HTTP/1.1", "1.1", "/1.1", "TP/1.1",
      "a: b", ": b", "\r\nHost: a", "T / HTTP/1.1\r\nHost: a", " / HTTP/1.1\r\nHost: a",
      "/ HTTP/1.1\r\nHost: a", " HTTP/1.1\r\nHost: a", "\nHost: a", "a: b\r\nHost: a",
      ": b\r\nHost: a", "\n",
    ]
    for ending in endings {
      let whole = bytes + Array("\(ending)\r\n\r\n".utf8)
      guard SecondBrowser(whole).shown(back: Self.browserURI) == nil else {
        return .fault("refused, though '\(ending)' makes it a request")
      }
    }
    return .refused
  }

  private func shown(_ step: BrowserRequest.Step, _ back: BrowserReturn) -> String? {
    switch step {
    case .needsMore: "more"
    case .refused: nil
    case .request(let request):
      switch back.meaning(of: request) {
      case .start: "start"
      case .response(let query): "response " + (query.exposedText() ?? "")
      case .other: "other"
      case .wrongHost: "host"
      case .wrongMethod: "method"
      }
    }
  }

  /// A head that is taken is taken however it arrives, and what follows it changes nothing.
  private func judgePieces(_ bytes: [UInt8], _ step: BrowserRequest.Step) -> Verdict {
    guard case .request = step else { return .refused }
    for count in [1, bytes.count / 3, bytes.count / 2, bytes.count - 1] where count > 0 {
      let part = BrowserRequest.read(Array(bytes.prefix(count)))
      guard part == .needsMore || part == step else { return .fault("\(count) bytes are \(part)") }
    }
    return .check(BrowserRequest.read(bytes + [0]) == step, "a byte behind the head counts")
  }

  /// What is pasted is of this sign-in, or refused.
  private func judgePasted(_ bytes: [UInt8]) -> Verdict {
    guard
      let query = try? BrowserReturn.query(
        ofPasted: Secret(bytes), redirectURI: Self.browserURI, state: Secret(Self.browserState))
    else { return .refused }
    return .check(
      SecondBrowser.hasState(query.bytes) && !query.bytes.contains(UInt8(ascii: "#"))
        && bytes.count >= query.count,
      "an address without the state is taken")
  }
}
