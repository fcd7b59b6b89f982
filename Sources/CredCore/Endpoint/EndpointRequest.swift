/// A request to the endpoint in the right form: `GET`, a path and HTTP/1.1, without a body.
public struct EndpointRequest: Sendable, Equatable, Redacted {
  /// The target as it was sent, byte for byte, with a query if there was one.
  public var target: [UInt8] = []
  /// The value of `Authorization`, without white space round it.
  public var token: Secret?
  /// The value of the only `Host`.
  public var host: [UInt8] = []
  /// A header that a browser or a proxy adds, and no SDK sends.
  public var foreignHeader: ForeignHeader?
  /// Whether the client wants the connection closed after the answer.
  public var closes = false

  public init() {}

  public var path: EndpointPath? { EndpointPath(target) }

  public var description: String { "<request>" }

  /// The refusal that does not depend on the sender; nil if there is none.
  ///
  /// - Parameter isAttested: whether the kernel has named the user at the other end.
  public func refusal(at address: EndpointAddress, isAttested: Bool) -> EndpointRefusal? {
    if foreignHeader != nil || !address.isNamed(by: host) { return .notAnSDK }
    if !isAttested { return .notAttested }
    return path == nil ? .unknownPath : nil
  }
}

/// Headers of browsers and proxies. A web page or a forwarded request reaches the loopback address
/// as the user of the browser or proxy. So credd recognises them by headers that they cannot omit.
public enum ForeignHeader: String, Sendable, CaseIterable {
  case origin
  case referer
  /// `Sec-Fetch-Site` and all others: a page cannot set them, and a browser always does.
  case sec = "sec-"
  case cookie
  case forwarded
  case xForwarded = "x-forwarded"
  case xRealIP = "x-real-ip"
  case via
  case proxy = "proxy-"

  /// - Parameter name: the name in lower case.
  init?(_ name: [UInt8]) {
    let found = Self.allCases.first { header in
      switch header {
      case .sec, .xForwarded, .proxy: name.starts(with: header.rawValue.utf8)
      default: name.elementsEqual(header.rawValue.utf8)
      }
    }
    guard let found else { return nil }
    self = found
  }
}
