import AuthCore
import NIOCore
import NIOHTTP1

/// The state of one connection: its requests in their order, and what it waits for.
///
/// The responder gets one request at a time, and answers go out in the order of their requests. The
/// machine does no I/O and knows no clock: ``ConnectionHandler`` tells it what happens, and does what it
/// returns.
struct ConnectionMachine {
  /// What may come next from the client.
  private enum Input {
    case head
    /// The rest of the last request.
    case body
    /// Nothing more counts. After the answers to the requests so far, the refusal is answered, if there is
    /// one, and the connection closes.
    case over(Refusal?)
    case closed
  }

  /// How long the connection stays open if nothing happens.
  private(set) var wait: Wait
  private var input = Input.head
  /// In order. The responder has the first request, or that request is answered and its rest arrives.
  private var requests: [Exchange] = []
  /// Answers to whole requests that the kernel has not taken yet.
  private var leaving = 0
  /// Bytes came that belong to no whole request.
  private var isArriving = true
  private var isWritable = true
  private var isReadHeld = false
  private var actions: [Action] = []

  init(at now: NIODeadline) { wait = Wait(reason: .request, since: now) }

  var isOpen: Bool { if case .closed = input { false } else { true } }

  /// Bytes of bodies that are kept for the responder; at most ``Limits/bodyBytes``.
  var keptBytes: Int { requests.reduce(0) { $0 + $1.body.readableBytes } }

  /// Requests, and answers that the kernel has not taken; a last refusal is one too.
  var unanswered: Int { requests.count + leaving }

  mutating func handle(_ event: Event, at now: NIODeadline) -> [Action] {
    switch event {
    case .bytes: arrive(now)
    case .head(let head): begin(head, now)
    case .body(let part): add(part)
    case .end: end(now)
    case .unreadable: breakOff(.unreadable)
    case .bodyWanted(let limit): want(limit)
    case .answered(let response): answer(response)
    case .flushed: flushed(now)
    case .readWanted: isReadHeld = true
    case .writable(let isWritable): self.isWritable = isWritable
    case .halfClosed: breakOff(nil)
    case .stopping: stop()
    case .timer, .failed: close()
    case .closed: forget()
    }
    readOn()
    defer { actions = [] }
    return actions
  }

  // MARK: Requests

  private mutating func arrive(_ now: NIODeadline) {
    isArriving = true
    if wait.reason == .idle { wait = Wait(reason: .request, since: now) }
  }

  private mutating func begin(_ head: HTTPRequestHead, _ now: NIODeadline) {
    guard case .head = input else { return }
    // The head may stand behind the end of another request in the same bytes.
    arrive(now)
    guard unanswered < Limits.unansweredRequests else { return breakOff(.tooManyRequests) }
    requests.append(Exchange(head))
    input = .body
    if requests.count == 1 { start() }
  }

  private mutating func add(_ part: ByteBuffer) {
    guard case .body = input else { return }
    requests[requests.count - 1].add(part, room: Limits.bodyBytes - keptBytes)
    giveBody()
  }

  private mutating func end(_ now: NIODeadline) {
    guard case .body = input else { return }
    let last = requests.count - 1
    requests[last].arrival = .whole
    input = requests[last].isLast ? .over(nil) : .head
    isArriving = false
    if requests[last].state == .flushed {
      wait = Wait(reason: .idle, since: now)
    } else if unansweredWhole == 1 {
      // A further request gives the answers before it no more time.
      wait = Wait(reason: .answer, since: now)
    }
    giveBody()
    goOn()
  }

  /// Nothing more comes that counts.
  private mutating func breakOff(_ refusal: Refusal?) {
    switch input {
    case .head:
      input = .over(refusal)
      if refusal == nil, !requests.isEmpty { requests[requests.count - 1].isLast = true }
      closeIfDone()
    case .body:
      input = .over(nil)
      requests[requests.count - 1].arrival = .broken
      requests[requests.count - 1].isLast = true
      giveBody()
      goOn()
    // Nothing is answered behind the last answer.
    case .over, .closed: break
    }
  }

  /// The responder still answers the request that it has. Requests that wait get no answer.
  private mutating func stop() {
    guard isOpen else { return }
    requests.removeLast(max(0, requests.count - 1))
    if !requests.isEmpty { requests[0].isLast = true }
    if requests.first?.arrival != .arriving { input = .over(nil) }
    closeIfDone()
  }

  // MARK: Answers

  private mutating func start() {
    requests[0].state = .asked
    if let refusal = requests[0].refusal {
      write(Response(refusal))
    } else {
      actions.append(.respond(requests[0].head))
    }
  }

  private mutating func want(_ limit: Int) {
    guard let first = requests.first, first.state == .asked else {
      return actions.append(.give(.failure(.brokenBody)))
    }
    requests[0].state = .wanted(limit)
    giveBody()
  }

  private mutating func giveBody() {
    guard let outcome = requests.first?.outcome else { return }
    requests[0].state = .given
    requests[0].body = ByteBuffer()
    actions.append(.give(outcome))
  }

  private mutating func answer(_ response: Response) {
    guard let state = requests.first?.state, state == .asked || state == .given else { return }
    write(response)
    goOn()
  }

  private mutating func write(_ response: Response) {
    let first = requests[0]
    requests[0].state = .answered
    requests[0].body = ByteBuffer()
    actions.append(
      .write(response, withBody: first.head.method != .HEAD, isLast: first.isLast))
  }

  /// Begins with the next request once the first one is whole and answered.
  private mutating func goOn() {
    while let first = requests.first, first.isDone {
      requests.removeFirst()
      if first.state == .answered { leaving += 1 }
      if !requests.isEmpty { start() }
    }
    closeIfDone()
  }

  private mutating func flushed(_ now: NIODeadline) {
    if leaving == 0 {
      // The rest of the request has the time that it had.
      if requests.first?.state == .answered { requests[0].state = .flushed }
      return
    }
    leaving -= 1
    let reason: Wait.Reason = unansweredWhole > 0 ? .answer : isArriving ? .request : .idle
    wait = Wait(reason: reason, since: now)
    closeIfDone()
  }

  /// Whole requests with answers that the kernel has not taken.
  private var unansweredWhole: Int {
    leaving + requests.count { $0.arrival == .whole && $0.state != .flushed }
  }

  // MARK: The connection

  /// Nothing is read while the kernel takes no more answers: a client that does not read its answers
  /// cannot add to them.
  private mutating func readOn() {
    guard isReadHeld, isOpen, isWritable, requests.first?.holdsReads != true else { return }
    isReadHeld = false
    actions.append(.read)
  }

  /// Closes once the kernel has taken all answers: an answer that it has not taken would be lost.
  private mutating func closeIfDone() {
    guard requests.isEmpty, case .over(let refusal) = input else { return }
    if let refusal {
      input = .over(nil)
      leaving += 1
      actions.append(.write(Response(refusal), withBody: true, isLast: true))
    }
    if leaving == 0 { close() }
  }

  private mutating func close() {
    guard isOpen else { return }
    actions.append(.close)
    forget()
  }

  private mutating func forget() {
    if case .wanted = requests.first?.state { actions.append(.give(.failure(.brokenBody))) }
    input = .closed
    requests = []
  }
}

extension Refusal {
  fileprivate static let unreadable = Self(
    400, "InvalidRequest", "this is no request of HTTP/1.1")
  fileprivate static let tooManyRequests = Self(
    400, "TooManyRequests",
    "more than \(Limits.unansweredRequests) requests waited for their answers")
}
