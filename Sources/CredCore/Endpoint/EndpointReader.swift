/// Reads the heads of requests from a connection to the endpoint, byte by byte.
///
/// It accepts the requests of the AWS SDKs, and refuses everything that two readers could
/// understand differently: a body, a folded field, a line without CR, a target other than a path.
/// It refuses an error at the first byte that shows it, so that another protocol ends at its first
/// line. After a refusal it reads nothing more.
///
/// A client may send a request before the earlier one is answered: the bytes after a request are
/// left for the next call.
///
/// A client that renews sends the same head again and again. If a head has the same bytes as the
/// last head of its connection, it is not parsed again: comparing takes a tenth of the time.
public struct EndpointReader: Sendable, Redacted {
  public enum Step: Sendable, Equatable {
    case needsMore
    case request(EndpointRequest)
    case refused(EndpointRefusal)
  }

  private enum State {
    /// Reads the request line.
    case requestLine
    /// Reads header fields of this request.
    case fields(EndpointRequest)
    case ended(EndpointRefusal)
  }

  private static let method = Array("GET ".utf8)
  private static let version = Array("HTTP/1.1".utf8)
  /// The most bytes of a method, longer than any registered method.
  private static let longestMethod = 20

  private var state = State.requestLine
  /// The bytes of the present line so far.
  private var line: [UInt8] = []
  /// The bytes of the present head so far.
  public private(set) var partialBytes = 0
  private var fields = 0
  /// The last head that came in one piece, and the request in it.
  private var last: (head: Secret, request: EndpointRequest)?
  /// The longest head that is remembered; longer heads are parsed each time. Heads of clients have
  /// some hundred bytes.
  private static let longestRemembered = 1024

  public init() {}

  public var description: String { "<head of a request>" }

  /// Whether a head has begun and has not ended.
  public var holdsPartialHead: Bool { partialBytes > 0 }

  /// Reads from `position`, and moves `position` after the bytes that it has read.
  public mutating func next(
    in chunk: borrowing Span<UInt8>, from position: inout Int
  ) -> Step {
    if case .ended(let refusal) = state { return .refused(refusal) }
    if let last, !holdsPartialHead, Self.repeats(last.head, in: chunk, from: position) {
      position += last.head.count
      return .request(last.request)
    }
    let start = holdsPartialHead ? nil : position
    while position < chunk.count {
      let byte = chunk[position]
      position += 1
      do throws(EndpointRefusal) {
        if let request = try take(byte) {
          if let start, position - start <= Self.longestRemembered {
            last = (Secret(chunk.extracting(start..<position).copied), request)
          }
          return .request(request)
        }
      } catch {
        line = []
        state = .ended(error)
        return .refused(error)
      }
    }
    return .needsMore
  }

  private static func repeats(
    _ head: Secret, in chunk: borrowing Span<UInt8>, from position: Int
  ) -> Bool {
    guard chunk.count - position >= head.count else { return false }
    for index in head.bytes.indices where head.bytes[index] != chunk[position + index] {
      return false
    }
    return true
  }

  private mutating func take(_ byte: UInt8) throws(EndpointRefusal) -> EndpointRequest? {
    partialBytes += 1
    guard partialBytes <= Limits.Endpoint.headBytes else { throw .headTooLong }
    if byte == UInt8(ascii: "\n") {
      guard line.last == UInt8(ascii: "\r") else { throw .lineEnd }
      line.removeLast()
      defer { line.removeAll(keepingCapacity: true) }
      return try endLine()
    }
    guard line.last != UInt8(ascii: "\r") else { throw .lineEnd }
    guard byte >= 0x20 && byte != 0x7F || byte == UInt8(ascii: "\r") else { throw .controlByte }
    line.append(byte)
    if case .requestLine = state { try checkStart() }
    return nil
  }

  /// Checks the request line as soon as its first bytes show what it is.
  private func checkStart() throws(EndpointRefusal) {
    let last = line[line.count - 1]
    if line.count <= Self.method.count, line.elementsEqual(Self.method.prefix(line.count)) {
      return
    }
    if line.starts(with: Self.method) {
      guard line.count > Self.method.count + 1 || last == UInt8(ascii: "/") else {
        throw .target
      }
      return
    }
    if last == UInt8(ascii: " "), line.count > 1 {
      throw line.elementsEqual("HEAD ".utf8) ? EndpointRefusal.head : EndpointRefusal.method
    }
    guard (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(last), line.count <= Self.longestMethod
    else { throw .notARequest }
  }

  private mutating func endLine() throws(EndpointRefusal) -> EndpointRequest? {
    switch state {
    case .requestLine:
      state = .fields(try requestLine())
      return nil
    case .fields(let request) where line.isEmpty:
      guard !request.host.isEmpty else { throw .host }
      state = .requestLine
      partialBytes = 0
      fields = 0
      return request
    case .fields(var request):
      fields += 1
      guard fields <= Limits.Endpoint.fields else { throw .tooManyFields }
      try add(to: &request)
      state = .fields(request)
      return nil
    case .ended(let refusal): throw refusal
    }
  }

  private func requestLine() throws(EndpointRefusal) -> EndpointRequest {
    guard line.starts(with: Self.method) else { throw .notARequest }
    let rest = line.dropFirst(Self.method.count)
    let parts = rest.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    guard parts.count == 2 else { throw .target }
    guard parts[0].allSatisfy(\.isVisible) else { throw .target }
    guard parts[1].elementsEqual(Self.version) else { throw .version }
    var request = EndpointRequest()
    request.target = Array(parts[0])
    return request
  }

  // MARK: Header fields

  private func add(to request: inout EndpointRequest) throws(EndpointRefusal) {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { throw .field }
    let name = line[..<colon].map { $0.isUppercase ? $0 | 0x20 : $0 }
    // A name contains no white space, neither before the colon nor at the start of a folded line.
    guard name.allSatisfy(\.isTokenByte) else { throw .field }
    let value = Array(line[(colon + 1)...].trimmedOfBlanks)
    if let foreign = ForeignHeader(name) {
      request.foreignHeader = request.foreignHeader ?? foreign
      return
    }
    switch String(decoding: name, as: UTF8.self) {
    case "host":
      guard request.host.isEmpty, !value.isEmpty else { throw .host }
      request.host = value
    case "authorization":
      guard request.token == nil else { throw .authorization }
      request.token = Secret(value)
    case "transfer-encoding", "trailer": throw .body
    // Some clients state explicitly that there is no body.
    case "content-length": guard value == [UInt8(ascii: "0")] else { throw .body }
    case "expect": throw .expectation
    case "connection": if Self.closes(value) { request.closes = true }
    default: break
    }
  }

  private static func closes(_ value: [UInt8]) -> Bool {
    value.split(separator: UInt8(ascii: ",")).contains { option in
      option.trimmedOfBlanks.map { $0 | 0x20 }.elementsEqual("close".utf8)
    }
  }
}

extension UInt8 {
  fileprivate var isUppercase: Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }

  /// Whether the byte is allowed in a header's name: `tchar` of RFC 9110 §5.6.2.
  fileprivate var isTokenByte: Bool { isLetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains(self) }
}
