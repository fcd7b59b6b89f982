import CredCore

extension ValueSyntax<Configuration.ListenAddress> {
  static var address: ValueSyntax {
    .value("ADDRESS:PORT, *:PORT, the path of a Unix socket, or systemd") {
      Configuration.ListenAddress($0)
    }
  }
}

extension ValueSyntax<Configuration.ListenAddress?> {
  static var addressOrNone: ValueSyntax {
    .value("ADDRESS:PORT, *:PORT, the path of a Unix socket, or none") { text in
      if text == "none" { return .some(nil) }
      guard let address = Configuration.ListenAddress(text), address != .systemd else { return nil }
      return .some(address)
    }
  }
}

extension ValueSyntax<Int> {
  static var callsASecond: ValueSyntax {
    .value("calls a second from 1/s to 10000/s, as 40/s") { text in
      Rate(written: text).flatMap { $0.unit == .second ? $0.count : nil }
    }
  }
}

extension ValueSyntax<String> {
  static var poolID: ValueSyntax {
    .text("an IdentityPoolId, as us-east-1:11111111-2222-…") { (try? IdentityPoolID($0)) != nil }
  }

  static var developerProvider: ValueSyntax {
    .text("a developer provider's name", where: CognitoSyntax.isDeveloperProvider)
  }

  static var cognito: ValueSyntax {
    .value("https://HOST[:PORT], or http://… on loopback") { text in
      guard let url = try? HTTPURL(text), url.isEncrypted || url.isLoopback, url.path == "/",
        !text.contains("?")
      else { return nil }
      return text.hasSuffix("/") ? String(text.dropLast()) : text
    }
  }
}

extension Configuration.ListenAddress {
  fileprivate init?(_ text: String) {
    if text == "systemd" {
      self = .systemd
    } else if text.hasPrefix("/") {
      guard text.utf8.count <= CredCore.Limits.Configuration.socketPathBytes else { return nil }
      self = .unixSocket(path: text)
    } else {
      guard let colon = text.lastIndex(of: ":") else { return nil }
      let digits = text[colon...].dropFirst()
      guard let port = UInt16(digits), digits.allSatisfy(\.isNumber),
        let host = Self.host(String(text[..<colon]))
      else { return nil }
      self = .network(host: host, port: Int(port))
    }
  }

  /// As the address stands in a URL: an IPv6 address has brackets.
  private static func host(_ text: String) -> String? {
    if text == "*" { return text }
    guard let url = try? HTTPURL("http://" + text),
      [url.host, "[\(url.host)]"].contains(text.lowercased())
    else { return nil }
    return url.host
  }

  /// Whether one of the two could not be bound beside the other.
  func meets(_ other: Self) -> Bool {
    switch (self, other) {
    case (.unixSocket(let path), .unixSocket(let second)): return path == second
    case (.network(let host, let port), .network(let second, let other))
    where port == other && port != 0:
      let all = ["0.0.0.0", "::", "*"]
      return host == second || all.contains(host) || all.contains(second)
    default: return false
    }
  }
}
