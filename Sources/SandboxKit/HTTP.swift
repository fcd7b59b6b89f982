public import FoundationEssentials

/// One complete HTTP request.
public struct HTTPRequest: Sendable {
  public var method: String
  /// The path as it was sent, percent-encoded.
  public var path: String
  /// The text after `?`, percent-encoded; empty without a query.
  public var query: String
  /// The fields in the order of their arrival, with the names as they were spelt.
  public var headers: [HTTPField]
  public var body: [UInt8]
  /// Whether it came at the port of the user pools' replica.
  public var isAtReplica = false

  /// - Parameter target: the request target: path and query, preceded by scheme and authority if
  ///   the client uses this server as a proxy (RFC 9112 §3.2.2).
  public init(method: String, target: String, headers: [HTTPField] = [], body: [UInt8] = []) {
    self.method = method
    var target = Substring(target)
    if let scheme = ["http://", "https://"].first(where: { target.hasPrefix($0) }) {
      target = target.dropFirst(scheme.count).drop { $0 != "/" }
      if target.isEmpty { target = "/" }
    }
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    self.path = String(parts.first ?? "/")
    self.query = parts.count > 1 ? String(parts[1]) : ""
    self.headers = headers
    self.body = body
  }

  /// The first field of this name, whatever its case.
  public func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  /// The token of `Authorization: Bearer …`.
  public var bearerToken: String? {
    guard let value = header("Authorization"), value.lowercased().hasPrefix("bearer ") else {
      return nil
    }
    return String(value.dropFirst("bearer ".count))
  }
}

/// One header field.
public struct HTTPField: Sendable, Equatable {
  public var name: String
  public var value: String

  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// One HTTP reply. `Date` and `Content-Length` are added when it is sent.
public struct HTTPReply: Sendable, Equatable {
  public var status: Int
  public var headers: [HTTPField]
  public var body: [UInt8]

  public init(status: Int = 200, headers: [HTTPField] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  public init(
    status: Int = 200, type: String = "application/json", headers: [HTTPField] = [], json: JSON
  ) {
    self.init(
      status: status, headers: [HTTPField("Content-Type", type)] + headers, body: json.bytes)
  }

  /// The first field of this name, whatever its case.
  public func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  /// The body read as JSON.
  public var json: JSON? { JSON(parsing: body) }
}

/// The parameters of a query or of an `application/x-www-form-urlencoded` body.
struct FormParameters {
  private var values: [String: String] = [:]

  /// - Parameter text: `name=value&…`, percent-encoded. If two names are equal, the first one is
  ///   used. Parameters that are not UTF-8 when decoded are omitted.
  init(_ text: String) {
    for pair in text.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = percentDecoded(parts[0], plusIsSpace: true),
        let value = percentDecoded(parts.count > 1 ? parts[1] : "", plusIsSpace: true)
      else { continue }
      if values[name] == nil { values[name] = value }
    }
  }

  /// Query and form body together: the sample protocol takes its parameters from either.
  init(of request: HTTPRequest) {
    let form = request.method == "POST" ? String(decoding: request.body, as: UTF8.self) : ""
    self.init(request.query + "&" + form)
  }

  subscript(_ name: String) -> String? { values[name] }

  var names: Set<String> { Set(values.keys) }
}

/// The text without its percent-encoding; nil if the encoding is broken or the text is not UTF-8.
func percentDecoded(_ text: Substring, plusIsSpace: Bool = false) -> String? {
  var bytes: [UInt8] = []
  var rest = text.utf8[...]
  while let byte = rest.popFirst() {
    switch byte {
    case UInt8(ascii: "%"):
      guard rest.count >= 2, let code = UInt8(String(Substring(rest.prefix(2))), radix: 16) else {
        return nil
      }
      bytes.append(code)
      rest = rest.dropFirst(2)
    case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
    default: bytes.append(byte)
    }
  }
  return String(validating: bytes, as: UTF8.self)
}

extension Date {
  /// Whole seconds since 1970, rounded down, as in token claims.
  var epochSeconds: Int { Int(timeIntervalSince1970.rounded(.down)) }

  /// `2015-09-22T18:08:03Z`.
  var iso8601Text: String { formatted(.iso8601) }

  /// Reads `2015-09-22T18:08:03Z` and nothing else.
  init?(iso8601Text text: String) {
    guard text.utf8.count == 20, let date = try? Date(text, strategy: .iso8601) else { return nil }
    self = date
  }

  /// Reads `20150922T180803Z`, the basic form of Signature Version 4.
  init?(basicISO8601Text text: String) {
    let characters = Array(text)
    guard characters.count == 16, characters.allSatisfy(\.isASCII) else { return nil }
    func part(_ range: Range<Int>) -> String { String(characters[range]) }
    self.init(
      iso8601Text: "\(part(0..<4))-\(part(4..<6))-\(part(6..<11)):\(part(11..<13)):\(part(13..<16))"
    )
  }

  /// `20150922T180803Z`.
  var basicISO8601Text: String { iso8601Text.filter { $0 != "-" && $0 != ":" } }

  /// The HTTP `Date` field (RFC 9110, IMF-fixdate).
  public var httpText: String {
    let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    let text = Array(iso8601Text)
    guard text.count == 20, let month = Int(String(text[5..<7])), (1...12).contains(month) else {
      return iso8601Text
    }
    let weekday = ((epochSeconds / 86_400) % 7 + 7) % 7
    return "\(days[weekday]), \(String(text[8..<10])) \(months[month - 1]) "
      + "\(String(text[0..<4])) \(String(text[11..<19])) GMT"
  }
}
