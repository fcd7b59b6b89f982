extension Dice {
  /// One to three requests to the endpoint, some of them with something that must be refused.
  mutating func endpointRequests() -> String {
    (0...number(3)).map { _ in endpointRequest() }.joined()
  }

  private mutating func endpointRequest() -> String {
    var lines = [endpointLine()]
    lines += ["Host: " + pick(["127.0.0.1", "127.0.0.1:337", "localhost", "evil.example"])]
    for _ in 0..<number(6) { lines.append(endpointField()) }
    if once(in: 30) { lines.remove(at: number(lines.count)) }
    if once(in: 40) {
      lines += (0..<number(in: 60...70)).map { "X-\($0): 1" }
    }
    if once(in: 40) { lines.append("X-Long: " + text("ab", 8000...8300)) }
    let end = once(in: 25) ? pick(["\n", "\r", "\r\r\n"]) : "\r\n"
    return lines.joined(separator: end) + end + "\r\n"
  }

  private mutating func endpointLine() -> String {
    let method = once(in: 15) ? pick(["HEAD", "POST", "get", "OPTIONS", "", "GETX", "G"]) : "GET"
    let target =
      once(in: 15)
      ? pick(["*", "http://evil/", "/a b", "//", "", "/é", "/\u{1}"])
      : pick([
        "/credentials/work", "/metrics", "/credentials/", "/credentials/a%2Fb", "/", "/../x?y=1",
      ])
    let version = once(in: 20) ? pick(["HTTP/1.0", "HTTP/2.0", "http/1.1", ""]) : "HTTP/1.1"
    return "\(method) \(target) \(version)"
  }

  private mutating func endpointField() -> String {
    guard !once(in: 10) else {
      return pick([
        "Transfer-Encoding: chunked", "Content-Length: 3", "Expect: 100-continue", "Host: evil",
        " folded", "X : 1", ":", "X", "Trailer: X", "Authorization: second", "X: a\u{7F}",
      ])
    }
    return pick([
      "Authorization: credd1.u.AAAA", "accept: */*", "User-Agent: aws-sdk/1.0 (é)", "X:",
      "Content-Length: 0", "Connection: keep-alive, CLOSE", "Connection: close ", "Origin: null",
      "Sec-Fetch-Mode: cors", "X-Forwarded-For: 1", "Via: 1.1 p", "COOKIE: a", "Forwarded: for=1",
      "Referer: http://a/", "x-forwardedness: 1",
      "Sec-GPC: 1", "Proxy-Connection: keep-alive", "X-Real-IP: 1", "X-Real-IPs: 1",
    ])
  }
}
