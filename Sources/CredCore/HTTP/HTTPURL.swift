/// An absolute http or https URL without user name, password or fragment.
public struct ConfiguredURL: Sendable, Equatable {
  /// As written.
  public let text: String
  /// Whether the scheme is https.
  public let isEncrypted: Bool
  /// The host in lower case; an IPv6 address without its brackets.
  public let host: String
  /// Nil where the scheme's own is meant.
  public let port: Int?

  /// Whether what is sent stays on this host: `localhost` or a loopback address. A name that merely
  /// resolves to one does not count, because resolving can change.
  public var isLoopback: Bool {
    if host == "localhost" || host == "::1" { return true }
    let octets = host.split(separator: ".", omittingEmptySubsequences: false)
    return octets.count == 4 && octets[0] == "127"
      && octets.allSatisfy { octet in UInt8(octet).map { String($0) == octet } ?? false }
  }

  /// Whether a query follows the path.
  var hasQuery: Bool { text.utf8.contains(UInt8(ascii: "?")) }

  /// Throws on anything that is not a plain URL. A message never repeats path or query, which may
  /// hold a key.
  public init(_ text: String) throws(InvalidValue) {
    let rest: Substring
    if text.hasPrefix("https://") {
      (isEncrypted, rest) = (true, text.dropFirst(8))
    } else if text.hasPrefix("http://") {
      (isEncrypted, rest) = (false, text.dropFirst(7))
    } else {
      throw InvalidValue("a URL must start with https:// or http://")
    }
    try ConfiguredURL.checkCharacters(rest)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard !authority.utf8.contains(UInt8(ascii: "@")) else {
      throw InvalidValue("a user name or password does not belong in a URL")
    }
    (host, port) = try ConfiguredURL.split(authority)
    let path = rest[authority.endIndex...]
    guard !String(path).holdsDotSegment else {
      throw InvalidValue("the URL's path holds '.' or '..'")
    }
    guard !path.utf8.contains(where: { "[]".utf8.contains($0) }) else {
      throw InvalidValue("brackets in a URL's path or query must be percent-encoded")
    }
    self.text = text
  }

  /// What a required URL is before its key was read. Nobody sees it: without the key there is no
  /// configuration.
  init(unread: Void) {
    (text, isEncrypted, host, port) = ("", true, "", nil)
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

  private static func split(
    _ authority: Substring
  ) throws(InvalidValue) -> (host: String, port: Int?) {
    let host: Substring
    let isValid: Bool
    if authority.first == "[" {
      host = authority.dropFirst().prefix { $0 != "]" }
      isValid =
        authority.dropFirst(1 + host.count).first == "]" && host.utf8.contains(UInt8(ascii: ":"))
        && host.utf8.allSatisfy { $0.isHexDigit || ":.".utf8.contains($0) }
    } else {
      host = authority.prefix { $0 != ":" }
      isValid = host.holdsOnlyLettersDigits(or: "-._") && host.utf8.count <= 253
    }
    guard !host.isEmpty, isValid else { throw InvalidValue("the URL has no valid host") }
    let rest = authority.dropFirst(host.count + (authority.first == "[" ? 2 : 0))
    guard !rest.isEmpty else { return (host.lowercased(), nil) }
    guard rest.first == ":", rest.dropFirst().utf8.allSatisfy(\.isDigit),
      let port = UInt16(rest.dropFirst()), port > 0
    else { throw InvalidValue("the URL's port is not a number from 1 to 65535") }
    return (host.lowercased(), Int(port))
  }
}

/// The parts of an absolute URL that signatures are made over.
struct URLParts: Equatable {
  /// With the port where the URL names one.
  let authority: String
  /// Lower-case, without port and without the brackets of an IPv6 address.
  let host: String
  /// Starts with `/`.
  let path: String
  /// Without the `?`; empty where there is none.
  let query: String

  /// Nil for anything but `http://host…` and `https://host…` without a user part.
  init?(_ url: String) {
    let lower = url.lowercased()
    guard let scheme = ["https://", "http://"].first(where: { lower.hasPrefix($0) }) else {
      return nil
    }
    let rest = url.dropFirst(scheme.count).prefix { $0 != "#" }
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let target = rest.dropFirst(authority.count)
    let path = target.prefix { $0 != "?" }
    guard !authority.contains("@"), let host = Self.host(of: authority) else { return nil }
    self.authority = String(authority)
    self.host = host
    self.path = path.isEmpty ? "/" : String(path)
    self.query = String(target.dropFirst(path.count + 1))
  }

  private static func host(of authority: Substring) -> String? {
    let host: Substring
    if authority.hasPrefix("[") {
      guard authority.contains("]") else { return nil }
      host = authority.dropFirst().prefix { $0 != "]" }
    } else {
      host = authority.prefix { $0 != ":" }
    }
    return host.isEmpty ? nil : host.lowercased()
  }
}
