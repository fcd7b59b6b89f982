extension Dice {
  /// A request to the listener of a sign-in.
  mutating func browserRequest() -> String {
    let method = once(in: 12) ? pick(["POST", "HEAD", "OPTIONS", "get", ""]) : "GET"
    let version = once(in: 15) ? pick(["HTTP/1.0", "HTTP/2.0", "http/1.1", ""]) : "HTTP/1.1"
    let end = once(in: 15) ? pick(["", "\r\n", "\n\n"]) : "\r\n\r\n"
    var fields = ["Host: \(browserHost())"]
    for _ in 0..<number(4) { fields.insert(browserField(), at: number(fields.count + 1)) }
    if once(in: 20) { fields.append("Host: localhost:8976") }
    return "\(method) \(browserTarget()) \(version)\r\n" + fields.joined(separator: "\r\n") + end
  }

  private mutating func browserHost() -> String {
    once(in: 5)
      ? pick([
        "evil.example", "localhost", "127.0.0.1:8976", "localhost:8977", "", "LOCALHOST:8976",
      ])
      : pick(["localhost:8976", "localhost:8976 ", "Localhost:8976"])
  }

  private mutating func browserField() -> String {
    pick([
      "User-Agent: Mozilla/5.0 (X11; Linux x86_64)", "Accept: */*", "Cookie: a=b; c=d",
      "Sec-Fetch-Mode: navigate", "Connection: keep-alive", "X:", "X : y", " folded", "no colon",
      "Accept-Language: de\u{7F}", "DNT:\t1",
    ])
  }

  private mutating func browserTarget() -> String {
    switch number(8) {
    case 0: return FuzzTarget.browserStart
    case 1: return pick(["/favicon.ico", "/", "*", "http://localhost:8976/credd/back?x", "/credd"])
    default: return "/credd/back?" + browserQuery()
    }
  }

  private mutating func browserQuery() -> String {
    let state = pick([
      "s7~T/a%2Bb%25c-0123456789", "s7%7ET%2Fa%2bb%25c-0123456789", "s7~T/a+b%c-0123456789", "old",
      "",
    ])
    var parts = ["\(pick(["state", "state", "state", "%73tate", "State"]))=\(state)"]
    for _ in 0..<number(4) {
      let part = pick([
        "code=abc.def", "iss=https%3A%2F%2Fexample.com%2F", "error=access_denied", "state=second",
        "session_state=x", "code", "", "=", "a=%", "a=%4", "code=\(text("abcXYZ019", 1...40))",
      ])
      parts.insert(part, at: number(parts.count + 1))
    }
    return parts.joined(separator: "&")
  }

  /// What a user may paste.
  mutating func pastedAddress() -> String {
    pick([
      "http://localhost:8976/credd/back?", "localhost:8976/credd/back?", "?", "", "https://evil/?",
    ])
      + browserQuery() + pick(["", "", "\n", "#_=_", " "])
  }
}
