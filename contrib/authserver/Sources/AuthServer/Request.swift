import AuthCore
public import NIOHTTP1

/// What answers requests. It turns its own failures into answers.
public protocol Responder: Sendable {
  func respond(to request: Request) async -> Response
}

/// One request. Its body may still be on its way.
public struct Request: Sendable {
  public let method: HTTPMethod
  private let target: RequestTarget
  public let headers: HTTPHeaders
  public let connection: Connection
  let body: RequestBody

  public var path: String { target.path }
  public var query: String { target.query }

  init(_ head: HTTPRequestHead, _ connection: Connection, _ body: RequestBody) {
    method = head.method
    headers = head.headers
    self.connection = connection
    self.body = body
    target = RequestTarget(head.uri)
  }
}

public struct Response: Sendable {
  public var status: Int
  public var headers: HTTPHeaders
  public var body: [UInt8]
}

/// A request's body, which is read for whoever asks for it. What arrives before is little.
struct RequestBody: Sendable {
  typealias Outcome = Result<[UInt8], Refusal>

  private let ask: @Sendable (_ limit: Int, CheckedContinuation<Outcome, Never>) -> Void

  init(_ ask: @escaping @Sendable (_ limit: Int, CheckedContinuation<Outcome, Never>) -> Void) {
    self.ask = ask
  }

  /// The whole body, once it is there. It is given once.
  func collect(upTo limit: Int) async throws(Refusal) -> [UInt8] {
    try await withCheckedContinuation { ask(limit, $0) }.get()
  }
}
