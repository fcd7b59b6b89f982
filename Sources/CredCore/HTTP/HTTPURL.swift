/// An absolute http or https URL without user name, password or fragment.
public struct HTTPURL: Sendable, Equatable {
  /// As written.
  public let text: String
  /// Whether the scheme is https.
  public let isEncrypted: Bool
  /// Host as written, with the port if the URL has one.
  public let authority: String
  /// The host in lower case; an IPv6 address without its brackets.
  public let host: String
  /// Starts with `/`.
  public let path: String
  /// The query without its `?`; nil if the URL has none.
  let query: String?

  /// Scheme, host and port as written.
  var origin: String { (isEncrypted ? "https://" : "http://") + authority.lowercased() }

  /// Whether requests stay on this host: `localhost` or a loopback address in its usual spelling. A name
  /// that resolves to a loopback address does not count, because it can resolve to another one later.
  public var isLoopback: Bool { Self.isLoopback(host: host) }

  /// The same for a host in lower case, without brackets.
  public static func isLoopback(host: String) -> Bool {
    if host == "localhost" || host == "::1" { return true }
    let octets = host.split(separator: ".", omittingEmptySubsequences: false)
    return octets.count == 4 && octets[0] == "127"
      && octets.allSatisfy { octet in UInt8(octet).map { String($0) == octet } ?? false }
  }

  /// Whether requests may end on this host by the host's text alone, however it is spelt. A name that
  /// resolves to such an address is not recognised.
  public var mayReachThisHost: Bool {
    // A resolver takes a name with a dot at its end for the same name.
    let name = host.hasSuffix(".") ? String(host.dropLast()) : host
    let last = name.split(separator: ".").last
    // RFC 6761, 6.3, and the names of /etc/hosts.
    return ["localhost", "localdomain", "localdomain4", "localdomain6"].contains(last)
      || Self.namesInHosts.contains(name)
      || HostAddress(name)?.isOfThisHost ?? false
  }

  /// As Debian, SUSE and Red Hat have them.
  private static let namesInHosts = [
    "localhost4", "localhost6", "ip4-localhost", "ip4-loopback", "ip6-localhost", "ip6-loopback",
    "ipv6-localhost", "ipv6-loopback",
  ]

  /// Throws on anything else. The message never repeats path or query, which may hold a key.
  public init(_ text: String) throws(InvalidValue) {
    let rest: Substring
    if text.hasPrefix("https://") {
      (isEncrypted, rest) = (true, text.dropFirst(8))
    } else if text.hasPrefix("http://") {
      (isEncrypted, rest) = (false, text.dropFirst(7))
    } else {
      throw InvalidValue("a URL must start with https:// or http://")
    }
    try Self.checkCharacters(rest)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard !authority.utf8.contains(UInt8(ascii: "@")) else {
      throw InvalidValue("a user name or password does not belong in a URL")
    }
    host = try Self.host(of: authority)
    let target = rest[authority.endIndex...]
    guard !String(target).containsDotSegment else {
      throw InvalidValue("the URL's path holds '.' or '..'")
    }
    guard !target.utf8.contains(where: { "[]".utf8.contains($0) }) else {
      throw InvalidValue("brackets in a URL's path or query must be percent-encoded")
    }
    let path = target.prefix { $0 != "?" }
    self.text = text
    self.authority = String(authority)
    self.path = path.isEmpty ? "/" : String(path)
    query = path.endIndex == target.endIndex ? nil : String(target[path.endIndex...].dropFirst())
  }

  /// A placeholder for a required URL until its key is read. It never leaves the reader: without
  /// the key there is no configuration.
  init(unread: Void) {
    (text, isEncrypted, authority, host, path, query) = ("", true, "", "", "/", nil)
  }

  private static func checkCharacters(_ rest: Substring) throws(InvalidValue) {
    let bytes = Array(rest.utf8)
    for (index, byte) in bytes.enumerated() {
      if byte == UInt8(ascii: "#") { throw InvalidValue("a URL here has no fragment ('#')") }
      guard byte.isLetterOrDigit || "-._~:/?[]@!$&'()*+,;=%".utf8.contains(byte) else {
        throw InvalidValue("the URL holds a character that must be percent-encoded")
      }
      guard byte != UInt8(ascii: "%") else {
        let code = bytes[(index + 1)...].prefix(2)
        guard code.count == 2, code.allSatisfy(\.isHexDigit) else {
          throw InvalidValue("'%' in a URL must be followed by two hexadecimal digits")
        }
        continue
      }
    }
  }

  /// The host in lower case. Checks the port too, which only the HTTP library needs.
  private static func host(of authority: Substring) throws(InvalidValue) -> String {
    let host: Substring
    let isValid: Bool
    if authority.first == "[" {
      host = authority.dropFirst().prefix { $0 != "]" }
      isValid =
        authority.dropFirst(1 + host.count).first == "]" && host.utf8.contains(UInt8(ascii: ":"))
        && host.utf8.allSatisfy { $0.isHexDigit || ":.".utf8.contains($0) }
    } else {
      host = authority.prefix { $0 != ":" }
      // A host such as `.` is not valid, and looks like a dot segment of a path.
      isValid =
        host.containsOnlyLettersDigits(or: "-._") && host.utf8.contains(where: \.isLetterOrDigit)
        && host.utf8.count <= 253
    }
    guard !host.isEmpty, isValid else { throw InvalidValue("the URL has no valid host") }
    let rest = authority.dropFirst(host.count + (authority.first == "[" ? 2 : 0))
    guard !rest.isEmpty else { return host.lowercased() }
    guard rest.first == ":", rest.dropFirst().utf8.allSatisfy(\.isDigit),
      let port = UInt16(rest.dropFirst()), port > 0
    else { throw InvalidValue("the URL's port is not a number from 1 to 65535") }
    return host.lowercased()
  }
}

extension String {
  /// Whether a part between slashes is `.` or `..`, plain or percent-encoded: HTTP clients and
  /// servers remove such a part together with the segment before it.
  var containsDotSegment: Bool {
    split { $0 == "/" || $0 == "?" }.contains { segment in
      [".", "..", "%2e", ".%2e", "%2e.", "%2e%2e"].contains(segment.lowercased())
    }
  }
}
