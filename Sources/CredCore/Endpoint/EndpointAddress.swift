/// The loopback address and port on which the endpoint listens.
///
/// The endpoint is served only on loopback: the kernel can name the caller only if both ends of a
/// connection are on this host.
public struct EndpointAddress: Sendable, Hashable, CustomStringConvertible {
  public enum Host: Sendable, Hashable {
    /// An address of 127.0.0.0/8, by its last three numbers.
    case ipv4(UInt8, UInt8, UInt8)
    /// `::1`.
    case ipv6
  }

  public let host: Host
  public let port: UInt16

  public init(_ host: Host = .ipv4(0, 0, 1), port: UInt16) {
    self.host = host
    self.port = port
  }

  /// Reads `127.0.0.1:337` or `[::1]:337`. Returns nil for anything else, even for a name such as
  /// `localhost`.
  public init?(_ text: String) {
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return nil }
    let host = String(text[..<colon])
    let digits = text[text.index(after: colon)...]
    guard let port = Self.number(digits, upTo: 65_535) else { return nil }
    if host == "[::1]" {
      self.init(.ipv6, port: UInt16(port))
      return
    }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    let numbers = parts.compactMap { Self.number($0, upTo: 255) }
    guard parts.count == 4, numbers.count == 4, numbers[0] == 127 else { return nil }
    self.init(
      .ipv4(UInt8(numbers[1]), UInt8(numbers[2]), UInt8(numbers[3])), port: UInt16(port))
  }

  /// A number without leading zeros, because some programs read `127.0.0.010` as 127.0.0.8.
  private static func number(_ text: Substring, upTo most: Int) -> Int? {
    guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy(\.isDigit),
      text.utf8.first != UInt8(ascii: "0") || text.utf8.count == 1, let number = Int(text),
      number <= most
    else { return nil }
    return number
  }

  /// The host as it is written in a URL.
  public var literal: String {
    switch host {
    case .ipv4(let b, let c, let d): "127.\(b).\(c).\(d)"
    case .ipv6: "[::1]"
    }
  }

  public var description: String { "\(literal):\(port)" }

  /// Whether a `Host` header names this address. Some SDKs omit the port. A name is never accepted,
  /// because an attacker can make another host's name lead here (DNS rebinding).
  public func isNamed(by host: [UInt8]) -> Bool {
    host.elementsEqual(literal.utf8) || host.elementsEqual(description.utf8)
  }

  /// The URL for the credentials of a profile. The profile is in the path, because one SDK sends no
  /// query.
  public func url(ofProfile name: String) -> String {
    "http://\(description)\(EndpointPath.credentials)\(name)"
  }
}

/// The paths of the endpoint.
public enum EndpointPath: Sendable, Equatable {
  case credentialsOf(profile: String)
  case metrics

  static let credentials = "/credentials/"
  private static let metricsPath = "/metrics"

  /// Compares bytes and decodes nothing, so each path has only one spelling.
  public init?(_ bytes: [UInt8]) {
    if bytes.elementsEqual(Self.metricsPath.utf8) {
      self = .metrics
      return
    }
    guard bytes.starts(with: Self.credentials.utf8) else { return nil }
    let name = String(
      decoding: bytes.dropFirst(Self.credentials.utf8.count), as: UTF8.self)
    guard name.isProfileName else { return nil }
    self = .credentialsOf(profile: name)
  }
}
