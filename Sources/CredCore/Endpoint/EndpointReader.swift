/// Reads the heads of requests from a connection to the endpoint.
///
/// It accepts the requests of the AWS SDKs, and refuses everything that two readers could
/// understand differently, such as a body or a target other than a path. It refuses an error at the
/// first byte that shows it, so that another protocol ends at its first line: see ``HeadReader``.
/// After a refusal it reads nothing more.
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
  private var head = HeadReader(
    mostBytes: Limits.Endpoint.headBytes, mostFields: Limits.Endpoint.fields, takesTabs: false)
  /// The last head that came in one piece, and the request in it.
  private var last: (head: Secret, request: EndpointRequest)?
  /// The longest head that is remembered; longer heads are parsed each time. Heads of clients have
  /// some hundred bytes.
  private static let longestRemembered = 1024

  public init() {}

  public var description: String { "<head of a request>" }

  /// The bytes of a head that has begun and has not ended.
  public var partialBytes: Int { head.bytes }

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
    do throws(EndpointRefusal) {
      while let part = try head.next(in: chunk, from: &position, checkStart: Self.checkStart) {
        guard let request = try take(part) else { continue }
        if let start, position - start <= Self.longestRemembered {
          last = (Secret(chunk.extracting(start..<position).copied), request)
        }
        return .request(request)
      }
      return .needsMore
    } catch {
      state = .ended(error)
      return .refused(error)
    }
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

  private mutating func take(_ part: HeadReader.Part) throws(EndpointRefusal) -> EndpointRequest? {
    switch (part, state) {
    case (.requestLine(let line), _): state = .fields(try Self.request(line))
    case (.field(let name, let value), .fields(var request)):
      try Self.add(name, value, to: &request)
      state = .fields(request)
    case (.end, .fields(let request)):
      guard !request.host.isEmpty else { throw .host }
      state = .requestLine
      return request
    default: break
    }
    return nil
  }

  /// Checks the request line as soon as its first bytes show what it is.
  private static func checkStart(_ line: [UInt8]) throws(EndpointRefusal) {
    let last = line[line.count - 1]
    if line.count <= method.count, line.elementsEqual(method.prefix(line.count)) {
      return
    }
    if line.starts(with: method) {
      guard line.count > method.count + 1 || last == UInt8(ascii: "/") else {
        throw .target
      }
      return
    }
    if last == UInt8(ascii: " "), line.count > 1 {
      throw line.elementsEqual("HEAD ".utf8) ? EndpointRefusal.head : EndpointRefusal.method
    }
    guard (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(last), line.count <= longestMethod
    else { throw .notARequest }
  }

  private static func request(_ line: [UInt8]) throws(EndpointRefusal) -> EndpointRequest {
    guard line.starts(with: method) else { throw .notARequest }
    let rest = line.dropFirst(method.count)
    let parts = rest.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    guard parts.count == 2 else { throw .target }
    guard parts[0].allSatisfy(\.isVisible) else { throw .target }
    guard parts[1].elementsEqual(version) else { throw .version }
    var request = EndpointRequest()
    request.target = Array(parts[0])
    return request
  }

  // MARK: Header fields

  private static func add(
    _ name: [UInt8], _ value: [UInt8], to request: inout EndpointRequest
  ) throws(EndpointRefusal) {
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
    case "connection": if closes(value) { request.closes = true }
    default: break
    }
  }

  private static func closes(_ value: [UInt8]) -> Bool {
    value.split(separator: UInt8(ascii: ",")).contains { option in
      option.trimmedOfBlanks.map { $0 | 0x20 }.elementsEqual("close".utf8)
    }
  }
}
