import AuthCore
import NIOCore
public import NIOHTTP1
import Synchronization

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

/// A request's body. What arrives before somebody asks for it is little: the connection is read on
/// only then.
final class RequestBody: Sendable {
  typealias Outcome = Result<[UInt8], Refusal>

  private struct State {
    var received = ByteBuffer()
    var isWhole = false
    var isBroken = false
    var isDropped = false
    var waiting: (limit: Int, continuation: CheckedContinuation<Outcome, Never>)?
  }

  private let state = Mutex(State())
  /// As the request declares it.
  private let length: Int?
  private let readOn: @Sendable () -> Void

  init(length: Int?, readOn: @escaping @Sendable () -> Void) {
    self.length = length
    self.readOn = readOn
  }

  /// The whole body, once it is there.
  func collect(upTo limit: Int) async throws(Refusal) -> [UInt8] {
    let outcome: Outcome = await withCheckedContinuation { continuation in
      let ended: Outcome? = state.withLock { state in
        let outcome = end(of: state, limit)
        if outcome == nil { state.waiting = (limit, continuation) }
        return outcome
      }
      if let ended { continuation.resume(returning: ended) } else { readOn() }
    }
    return try outcome.get()
  }

  private func end(of state: State, _ limit: Int) -> Outcome? {
    guard max(length ?? 0, state.received.readableBytes) <= limit else {
      return .failure(
        Refusal(413, "RequestTooLarge", "the body is longer than \(limit) bytes"))
    }
    guard !state.isBroken else {
      return .failure(Refusal(400, "InvalidRequest", "the body broke off"))
    }
    return state.isWhole ? .success(Array(state.received.readableBytesView)) : nil
  }

  private func change(_ body: (inout State) -> Void) {
    let ended = state.withLock { state in
      body(&state)
      guard let waiting = state.waiting, let outcome = end(of: state, waiting.limit) else {
        return Optional<(CheckedContinuation<Outcome, Never>, Outcome)>.none
      }
      state.waiting = nil
      return (waiting.continuation, outcome)
    }
    if let (continuation, outcome) = ended { continuation.resume(returning: outcome) }
  }

  func add(_ part: ByteBuffer) {
    change { state in
      guard !state.isDropped else { return }
      state.received.writeImmutableBuffer(part)
    }
  }

  func end() { change { $0.isWhole = true } }

  /// The connection is gone.
  func breakOff() { change { $0.isBroken = true } }

  /// Nobody will ask for it any more.
  func drop() {
    change { state in
      state.isDropped = true
      state.received = ByteBuffer()
    }
  }
}
