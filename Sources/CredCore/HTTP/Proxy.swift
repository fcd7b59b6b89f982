/// The proxy by which a request goes, as the environment names it.
///
/// As for curl, the URL's scheme decides whether `https_proxy` or `http_proxy` counts. Without either,
/// `all_proxy` counts. `no_proxy` has the hosts that need no proxy. An IPv6 address in `no_proxy` may
/// have brackets or none, and any spelling.
///
/// credd reads these variables itself, because libcurl does not say which proxy it took. If libcurl
/// cannot read a proxy's URL, it repeats the URL with its password.
public struct Proxy: Sendable, Equatable {
  /// What messages may show of a proxy: no user, and no password.
  public struct Name: Sendable, Equatable {
    /// The variable that names it, such as `https_proxy`.
    public let variable: String
    /// Host and port.
    public let address: String

    public init(variable: String, address: String) {
      self.variable = variable
      self.address = address
    }
  }

  public let name: Name
  /// As the environment has it, perhaps with a password.
  public let url: Secret
  /// Whether the proxy itself speaks TLS.
  public let isEncrypted: Bool

  /// The proxy of a request; nil if it goes without one.
  ///
  /// - Parameter variable: reads a variable of the environment; an empty one counts as none.
  /// - Throws: if the proxy's URL cannot be read. The field is the variable; the reason never quotes the value.
  public static func chosen(
    for request: HTTPRequest, _ settings: HTTPSettings, variable: (String) -> String?
  ) throws(InvalidInput) -> Proxy? {
    guard let url = try? HTTPURL(request.url), !url.isLoopback, settings.unixSocket == nil else {
      return nil
    }
    // Not HTTP_PROXY: a CGI program has it from the header `Proxy` of a stranger.
    let names = url.isEncrypted ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
    func value(_ name: String) -> String? { variable(name).flatMap { $0.isEmpty ? nil : $0 } }
    let exceptions = value("no_proxy") ?? value("NO_PROXY") ?? ""
    for name in names + ["all_proxy", "ALL_PROXY"] {
      guard let text = value(name) else { continue }
      return ProxyExceptions(exceptions).include(url.host) ? nil : try Proxy(text, from: name)
    }
    return nil
  }

  private init(_ text: String, from variable: String) throws(InvalidInput) {
    func wrong(_ reason: String) -> InvalidInput { InvalidInput(field: variable, reason: reason) }
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw wrong("it holds a blank or a control character")
    }
    // String(cString:) puts it for bytes that are no UTF-8; the proxy would get another password.
    guard !text.unicodeScalars.contains("\u{FFFD}") else {
      throw wrong("it holds bytes that are no UTF-8: they must be percent-encoded")
    }
    let (scheme, rest) = Self.parts(of: text)
    guard let port = Self.ports[scheme] else {
      throw wrong(
        "it must begin with http://, https://, socks4://, socks4a://, socks5:// or socks5h://")
    }
    let authority = rest.prefix { !"/?#".contains($0) }
    guard !rest[authority.endIndex...].contains("@") else {
      throw wrong("'/', '?' and '#' in its user name or password must be percent-encoded")
    }
    let login = authority.lastIndex(of: "@").map { authority[..<$0] }
    guard !(login?.contains("@") ?? false) else {
      throw wrong("'@' in its user name or password must be %40")
    }
    // libcurl takes no proxy at all then.
    guard !["%0", "%1", "%7f", "%7F"].contains(where: { login?.contains(bytesOf: $0) ?? false })
    else {
      throw wrong("its user name or password holds a control character")
    }
    let server = login.map { authority[$0.endIndex...].dropFirst() } ?? authority
    let parsed: HTTPURL
    do { parsed = try HTTPURL("http://\(server)/") } catch { throw wrong(error.message) }
    let hasPort = server.last != "]" && server.contains(":")
    let address = hasPort ? parsed.authority : "\(parsed.authority):\(port)"
    name = Name(variable: variable, address: address)
    url = Secret(text)
    isEncrypted = scheme == "https"
  }

  /// libcurl's port for each scheme. It takes `socks` for SOCKS4.
  private static let ports = [
    "http": 1080, "https": 443, "socks": 1080, "socks4": 1080,
    "socks4a": 1080, "socks5": 1080, "socks5h": 1080,
  ]

  /// Without a scheme it is an HTTP proxy.
  private static func parts(of text: String) -> (scheme: String, rest: Substring) {
    let scheme = text.prefix { $0 != ":" }
    let rest = text[scheme.endIndex...]
    guard rest.hasPrefix("://") else { return ("http", text[...]) }
    return (scheme.lowercased(), rest.dropFirst(3))
  }
}

/// The hosts of `no_proxy`: names with everything below them, addresses, networks, or `*` for all.
struct ProxyExceptions {
  private let entries: [Substring]

  init(_ text: String) {
    entries = text.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
  }

  /// - Parameter host: in lower case, without brackets.
  func include(_ host: String) -> Bool {
    if entries == ["*"] { return true }
    let name = host.hasSuffix(".") ? host.dropLast() : host[...]
    guard let address = HostAddress(host) else {
      return entries.contains { entry in
        let own = entry.trimmed(of: ".")
        return !own.isEmpty && (name == own || name.hasSuffix(".\(own)"))
      }
    }
    return entries.contains { Self.matches(address, $0) }
  }

  private static func matches(_ address: HostAddress, _ entry: Substring) -> Bool {
    let parts = entry.split(separator: "/", omittingEmptySubsequences: false)
    guard let first = parts.first, parts.count <= 2,
      let network = HostAddress(String(first.filter { $0 != "[" && $0 != "]" })),
      network.bits.count == address.bits.count
    else { return false }
    let length = parts.count == 1 ? network.bits.count : Int(parts[1]) ?? -1
    guard (0...network.bits.count).contains(length) else { return false }
    return network.bits.prefix(length) == address.bits.prefix(length)
  }
}

extension Substring {
  fileprivate func trimmed(of character: Character) -> Substring {
    let start = drop { $0 == character }
    return start.last == character ? start.dropLast() : start
  }
}

extension HostAddress {
  /// From the first bit of the network.
  fileprivate var bits: [Bool] {
    func bits(_ number: UInt32, _ count: UInt32) -> [Bool] {
      (0..<count).map { number >> (count - 1 - $0) & 1 == 1 }
    }
    return switch self {
    case .v4(let number): bits(number, 32)
    case .v6(let groups): groups.flatMap { bits(UInt32($0), 16) }
    }
  }
}
