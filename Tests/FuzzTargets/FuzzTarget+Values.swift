import CredCore
import FoundationEssentials

extension FuzzTarget {
  func judgeToken(_ bytes: [UInt8]) -> Verdict {
    let token = try? DeveloperToken(Secret(bytes))
    let read = token.map { [$0.expiration.map { "\($0)" }, $0.audience] }
    let second = SecondToken(bytes).map { [$0.expiration.map { "\($0)" }, $0.audience] }
    if token.map({ $0.token.bytes != bytes }) ?? false { return .fault("another token") }
    if hasNumberOutOfRange(bytes) { return .accepted }
    let verdict = Verdict.of("token", read, second)
    // A token without claims is accepted as it is. For the balance of the grammar it counts as none.
    return verdict == .accepted && token?.expiration == nil ? .refused : verdict
  }

  private func hasNumberOutOfRange(_ token: [UInt8]) -> Bool {
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = SecondBase64.decode(Array(parts[1]), last: "-_") else {
      return false
    }
    return SecondJSONReading(payload) == .outOfRange
  }

  func judgeTimes(_ bytes: [UInt8]) -> Verdict {
    let text = String(decoding: bytes, as: UTF8.self)
    let now = WallTime(milliseconds: 1_700_000_000_000)
    let times = [WallTime(iso8601: text), WallTime(httpDate: text)].compactMap { $0 }
    return .all(
      [
        .of("ISO 8601", WallTime(iso8601: text), SecondTime.iso8601(text)),
        .of("HTTP date", WallTime(httpDate: text), SecondTime.httpDate(text)),
        .of(
          "Retry-After", Duration(retryAfter: text, now: now),
          SecondTime.retryAfter(text, now: now)),
        .of(
          "Retry-After without Date", Duration(retryAfter: text, now: nil),
          SecondTime.retryAfter(text, now: nil)),
      ] + times.map(judgeWritten))
  }

  /// A time in its one spelling is read as the same second.
  private func judgeWritten(_ time: WallTime) -> Verdict {
    let second = Int64((Double(time.milliseconds) / 1000).rounded(.down)) * 1000
    // An offset leads out of the years that can be written.
    guard (-62_167_219_200_000...253_402_300_799_000).contains(second) else { return .accepted }
    return .check(
      WallTime(iso8601: time.iso8601) == WallTime(milliseconds: second)
        && SecondTime.iso8601(time.iso8601) == WallTime(milliseconds: second),
      "\(time) is written as \(time.iso8601)")
  }
}

// MARK: URLs

extension FuzzTarget {
  /// A URL in a template leads to the same host for every user; Foundation reads the same host.
  func judgeURL(_ bytes: [UInt8]) -> Verdict {
    let text = String(decoding: bytes, as: UTF8.self)
    let url = try? HTTPURL(text)
    let template = try? URLTemplate(text)
    return .all(
      [
        .of("URL", url.map { "\($0.isEncrypted) \($0.host)" }, Self.shown(text)),
        .of(
          "URL with placeholders", template.map { Self.shown($0.template) },
          SecondRules.urlTemplate(text)),
      ] + (url.map { [judge($0)] } ?? []) + (template.map { judgeExpansions($0, text) } ?? []))
  }

  private static func shown(_ template: Template) -> String {
    template.parts.map { part in
      switch part {
      case .literal(let text): "'\(text)'"
      case .placeholder(let placeholder): "{\(placeholder.rawValue)}"
      case .claim(let name): "{claim.\(name)}"
      }
    }.joined()
  }

  private static func shown(_ text: String) -> String? {
    SecondRules.url(text).map { "\($0.isEncrypted) \($0.host)" }
  }

  private func judge(_ url: HTTPURL) -> Verdict {
    guard let parts = URLComponents(string: url.text) else {
      return .fault("Foundation does not read the URL")
    }
    let host = (parts.host ?? "").filter { !"[]".contains($0) }.lowercased()
    let isLocal = SecondRules.isLoopback(host)
    return .all([
      .check(host == url.host, "another host than \(host)"),
      .check(!host.isEmpty && parts.user == nil && parts.password == nil, "a host or a user"),
      .check(parts.fragment == nil, "a fragment"),
      .check(parts.scheme == (url.isEncrypted ? "https" : "http"), "another scheme"),
      .check(parts.port.map { (1...65_535).contains($0) } ?? true, "a port out of range"),
      .check(url.isLoopback == isLocal, "loopback or not"),
      .check(url.mayReachThisHost || !url.isLoopback, "loopback, and of another host"),
      .check(!Self.hasDotSegment(url.text), "a dot segment"),
      .accepted,
    ])
  }

  private static func hasDotSegment(_ url: String) -> Bool {
    let path = url.dropFirst(url.hasPrefix("https") ? 8 : 7).lowercased()
    let plain = String(path.split(separator: "?", maxSplits: 1)[0])
    let pieces = plain.split(separator: "/").dropFirst().map { segment in
      var piece = String(segment)
      while let code = piece.firstRange(of: "%2e") { piece.replaceSubrange(code, with: ".") }
      return piece
    }
    return pieces.contains(".") || pieces.contains("..")
  }

  private func judgeExpansions(_ template: URLTemplate, _ text: String) -> [Verdict] {
    let users: [String?] = [nil, "alice", "../../x", "..", ".", "a/b?c#d@e", "%2e%2e", "é\n", ""]
    return users.map { user in
      guard
        let expanded = try? template.expand(user: user, uid: 1000, host: "h"),
        let plain = try? template.expand(user: "x", uid: 1000, host: "h"),
        let (one, other) = Self.components(expanded, plain)
      else { return .check(user != "alice", "a URL for a plain user is missing") }
      return .all([
        .check(
          one.host == other.host && one.port == other.port && one.scheme == other.scheme
            && one.user == other.user, "a user's name leads to another host: \(expanded)"),
        .check(
          one.percentEncodedPath.split(separator: "/", omittingEmptySubsequences: false).count
            == other.percentEncodedPath.split(separator: "/", omittingEmptySubsequences: false)
            .count && one.fragment == other.fragment
            && (one.percentEncodedQuery == nil) == (other.percentEncodedQuery == nil),
          "a user's name changes the form of the URL: \(expanded)"),
        .check(!Self.hasDotSegment(expanded), "a user's name makes a dot segment: \(expanded)"),
        .accepted,
      ])
    }
  }

  private static func components(_ one: String, _ other: String) -> (URLComponents, URLComponents)?
  {
    guard let one = URLComponents(string: one), let other = URLComponents(string: other) else {
      return nil
    }
    return (one, other)
  }
}
