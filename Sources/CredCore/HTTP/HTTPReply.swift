/// An answer that arrived whole. The HTTP layer drops one over its limit, and
/// follows no redirect.
public struct HTTPReply: Sendable, Equatable {
  public struct Header: Sendable, Equatable {
    public let name: String
    public let value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  public var status: Int
  public var headers: [Header]
  /// May hold credentials.
  public var body: Secret

  public init(status: Int, headers: [Header] = [], body: Secret) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// The first header of that name, whatever its case (RFC 9110 §5.1).
  public func header(_ name: String) -> String? {
    let wanted = name.lowercased()
    return headers.first { $0.name.lowercased() == wanted }?.value
  }

  /// Whether the status says that the request succeeded.
  public var isSuccess: Bool { (200..<300).contains(status) }

  /// What a captive portal or a proxy sends in place of an answer. The content type is of no use:
  /// emulators of Cognito send JSON as `text/html`.
  var looksLikeHTML: Bool {
    let start = body.bytes.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }.prefix(14)
    let text = String(decoding: start, as: UTF8.self).lowercased()
    return text.hasPrefix("<!doctype html") || text.hasPrefix("<html") || text.hasPrefix("<head")
  }
}
