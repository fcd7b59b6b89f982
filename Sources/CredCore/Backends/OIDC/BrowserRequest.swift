/// A request of a browser to the loopback listener of a sign-in.
///
/// Requests that no browser sends are refused, as soon as a byte shows it: see ``HeadReader``.
public struct BrowserRequest: Sendable, Equatable, Redacted {
  public let isGet: Bool
  /// The target with its query, byte for byte. It contains the code.
  public let target: Secret
  /// The value of the only `Host`.
  public let host: [UInt8]

  /// The meaning of the bytes so far.
  public enum Step: Sendable, Equatable {
    case needsMore
    case request(BrowserRequest)
    case refused
  }

  /// The most bytes of a head: the longest query of a response, and the cookies that all programs
  /// on `localhost` have left in the browser.
  public static let headBytes = Limits.OIDC.responseBytes + (16 << 10)
  /// The most header fields. Browsers send some twenty.
  private static let mostFields = 128

  /// Reads the bytes of a connection, from the first byte on.
  ///
  /// Bytes after the head are not read: a GET has no body.
  public static func read(_ bytes: [UInt8]) -> Step {
    do throws(EndpointRefusal) {
      if let request = try request(in: bytes) { return .request(request) }
      return bytes.count < headBytes ? .needsMore : .refused
    } catch {
      return .refused
    }
  }

  private static func request(in bytes: [UInt8]) throws(EndpointRefusal) -> BrowserRequest? {
    var head = HeadReader(mostBytes: headBytes, mostFields: mostFields, takesTabs: true)
    var line: (isGet: Bool, target: Secret)?
    var host: [UInt8]?
    var position = 0
    while let part = try head.next(in: bytes.span, from: &position, checkStart: checkStart) {
      switch part {
      case .requestLine(let text): line = try requestLine(text)
      case .field(let name, let value):
        guard name.elementsEqual("host".utf8) else { continue }
        guard host == nil else { throw .host }
        host = value
      case .end:
        guard let line, let host else { throw .host }
        return BrowserRequest(isGet: line.isGet, target: line.target, host: host)
      }
    }
    return nil
  }

  /// Checks that the bytes begin like a request. Other protocols already differ in their first byte.
  private static func checkStart(_ line: [UInt8]) throws(EndpointRefusal) {
    let method = line.prefix { $0 != UInt8(ascii: " ") }
    guard (1...longestMethod).contains(method.count), method.allSatisfy(\.isUppercase) else {
      throw .notARequest
    }
  }

  private static let longestMethod = 20

  private static func requestLine(
    _ line: [UInt8]
  ) throws(EndpointRefusal) -> (isGet: Bool, target: Secret) {
    let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    guard words.count == 3, words[1].first == UInt8(ascii: "/"), words[1].allSatisfy(\.isVisible)
    else { throw .target }
    guard words[2].elementsEqual("HTTP/1.1".utf8) || words[2].elementsEqual("HTTP/1.0".utf8)
    else { throw .version }
    return (words[0].elementsEqual("GET".utf8), Secret(Array(words[1])))
  }
}

/// The address to which a sign-in's browser comes back, and the secrets by which the listener knows
/// its requests.
public struct BrowserReturn: Sendable, Redacted {
  /// `localhost:8976`, as in the redirect URI.
  let authority: String
  let path: [UInt8]
  let state: Secret
  /// The secret in the link that starts the browser. Other users can see the browser's arguments,
  /// so the link is used once and contains nothing else.
  let start: Secret

  /// - Parameters:
  ///   - redirectURI: an http URI with a port.
  ///   - start: a path.
  /// - Returns: nil for any other URI.
  public init?(redirectURI: String, state: Secret, start: Secret) {
    guard let url = try? HTTPURL(redirectURI), !url.isEncrypted, url.query == nil else {
      return nil
    }
    authority = url.authority.lowercased()
    path = Array(url.path.utf8)
    self.state = state
    self.start = start
  }

  /// The meaning of a request for this sign-in.
  public enum Meaning: Sendable, Equatable {
    /// The browser starts: the listener sends it to the provider.
    case start
    /// The provider has sent the browser back, with this query.
    case response(Secret)
    /// A request for an icon, of an old tab, or of another program: it changes nothing.
    case other
    /// A web page with a host name that leads here, or a program that means another server.
    case wrongHost
    case wrongMethod
  }

  public func meaning(of request: BrowserRequest) -> Meaning {
    guard isOwn(request.host) else { return .wrongHost }
    guard request.isGet else { return .wrongMethod }
    let target = request.target.bytes
    if target.isEqual(to: start.bytes.span) { return .start }
    let path = target.prefix { $0 != UInt8(ascii: "?") }
    guard path.elementsEqual(self.path), path.count < target.count else { return .other }
    let query = Secret(Array(target[(path.count + 1)...]))
    return Self.has(state, query) ? .response(query) : .other
  }

  /// Browsers omit the default port of the scheme.
  private func isOwn(_ host: [UInt8]) -> Bool {
    let host = host.map { $0.isUppercase ? $0 | 0x20 : $0 }
    return host.elementsEqual(authority.utf8)
      || authority.hasSuffix(":80") && host.elementsEqual(authority.utf8.dropLast(3))
  }

  /// The query of the text that a user has copied from the browser: the whole address, or only the
  /// query.
  ///
  /// - Throws: the mistake in the text, in words for the user.
  public static func query(
    ofPasted text: Secret, redirectURI: String, state: Secret
  ) throws(InvalidInput) -> Secret {
    var bytes = Array(text.bytes.trimmed)
    guard bytes.count <= Limits.OIDC.responseBytes else {
      throw InvalidInput(field: "it", reason: "is longer than \(Limits.OIDC.responseBytes) bytes")
    }
    // Some providers add a fragment, which a browser does not send.
    if let fragment = bytes.firstIndex(of: UInt8(ascii: "#")) { bytes.removeSubrange(fragment...) }
    if let mark = bytes.firstIndex(of: UInt8(ascii: "?")) {
      let target = bytes[..<mark]
      guard target.isEmpty || isRedirectURI(target, redirectURI) else {
        throw InvalidInput(
          field: "it", reason: "is not an address that starts with \(redirectURI)?")
      }
      bytes.removeSubrange(...mark)
    }
    let query = Secret(bytes)
    guard has(state, query) else {
      throw InvalidInput(field: "it", reason: "is not the address at which this sign-in ends")
    }
    return query
  }

  /// Browsers show an address without its scheme.
  private static func isRedirectURI(_ target: ArraySlice<UInt8>, _ redirectURI: String) -> Bool {
    target.elementsEqual(redirectURI.utf8)
      || ["http://", "https://"].contains { scheme in
        redirectURI.hasPrefix(scheme)
          && target.elementsEqual(redirectURI.utf8.dropFirst(scheme.utf8.count))
      }
  }

  /// Whether a query has that state exactly once.
  private static func has(_ state: Secret, _ query: Secret) -> Bool {
    let states = query.bytes.split(separator: UInt8(ascii: "&")).filter { part in
      PercentEncoding.decodeForm(part.prefix { $0 != UInt8(ascii: "=") })?
        .elementsEqual("state".utf8) ?? false
    }
    guard states.count == 1, let part = states.first,
      let equals = part.firstIndex(of: UInt8(ascii: "=")),
      let value = PercentEncoding.decodeForm(part[(equals + 1)...])
    else { return false }
    return state.isSame(as: value)
  }
}
