internal import CredCore

/// A redirect URI at which credctl can listen.
public struct LoopbackURI: Sendable, Equatable {
  public enum Host: Sendable, Equatable {
    /// `localhost`: a browser may try IPv4 or IPv6 first.
    case localhost
    /// The last three bytes of `127.…`.
    case ipv4(UInt8, UInt8, UInt8)
    case ipv6
  }

  public let host: Host
  /// The port; nil if any port is allowed.
  public let port: UInt16?
  private let authority: String
  private let rest: String

  /// Returns nil for a URI of another host.
  public init?(_ text: String) {
    guard let url = try? HTTPURL(text), !url.isEncrypted, url.isLoopback else { return nil }
    let scheme = "http://"
    let afterScheme = text.dropFirst(scheme.count)
    let server = String(afterScheme.prefix { $0 != "/" })
    rest = String(afterScheme.dropFirst(server.count))
    let bracket = server.lastIndex(of: "]")
    if let colon = server.lastIndex(of: ":"), bracket.map({ $0 < colon }) ?? true {
      guard let number = UInt16(server[server.index(after: colon)...]) else { return nil }
      port = number
      authority = String(server[..<colon])
    } else {
      port = nil
      authority = server
    }
    switch url.host {
    case "localhost": host = .localhost
    case "::1": host = .ipv6
    case let address:
      let octets = address.split(separator: ".").compactMap { UInt8($0) }
      guard octets.count == 4, octets[0] == 127 else { return nil }
      host = .ipv4(octets[1], octets[2], octets[3])
    }
  }

  /// The URI with the port at which credctl listens. A URI with a port stays unchanged.
  public func text(port listening: UInt16) -> String {
    "http://\(authority):\(port ?? listening)\(rest)"
  }

  /// The link with which the browser starts, at the same host and port.
  public func url(ofPath path: String, port listening: UInt16) -> String {
    "http://\(authority):\(port ?? listening)\(path)"
  }
}

/// The user who listens at a port, from `/proc/net/tcp` and `/proc/net/tcp6` (proc(5)).
public enum PortHolder {
  private static let listening = "0A"

  /// The uid; nil if no socket listens there.
  public static func uid(at port: UInt16, in table: [UInt8]) -> UInt32? {
    for line in table.split(separator: UInt8(ascii: "\n")).dropFirst() {
      let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 9)
      guard fields.count > 8, fields[3].elementsEqual(listening.utf8),
        let colon = fields[1].lastIndex(of: UInt8(ascii: ":")),
        number(fields[1][(colon + 1)...], radix: 16) == UInt64(port)
      else { continue }
      return number(fields[7], radix: 10).flatMap { UInt32(exactly: $0) }
    }
    return nil
  }

  private static func number(_ digits: ArraySlice<UInt8>, radix: Int) -> UInt64? {
    UInt64(String(decoding: digits, as: UTF8.self), radix: radix)
  }
}
