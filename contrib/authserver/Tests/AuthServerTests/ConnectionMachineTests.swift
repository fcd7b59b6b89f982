import AuthCore
import NIOCore
import NIOHTTP1
import Testing

@testable import AuthServer

/// What one connection does, event by event. Actions are written as short texts.
struct ConnectionMachineTests {
  private struct Line {
    var machine: ConnectionMachine
    var now = NIODeadline.uptimeNanoseconds(0)

    init() { machine = ConnectionMachine(at: now) }

    mutating func take(_ events: ConnectionMachine.Event...) -> [String] {
      events.flatMap { machine.handle($0, at: now) }.map(Self.text)
    }

    mutating func pass(_ seconds: Int64) { now = now + .seconds(seconds) }

    private static func text(_ action: ConnectionMachine.Action) -> String {
      switch action {
      case .respond(let head): "respond \(head.uri)"
      case .give(.success(let body)): "give \(body.count)"
      case .give(.failure(let refusal)): "give \(refusal.status)"
      case .write(let response, let withBody, let isLast):
        "write \(response.status)\(withBody ? "" : " empty")\(isLast ? " last" : "")"
      case .read: "read"
      case .close: "close"
      }
    }

    /// Seconds from now, where a connection may be idle for 75 s.
    var left: Int64 {
      (machine.wait.end(idle: Limits.idleTime) - now).nanoseconds / 1_000_000_000
    }
  }

  private func head(
    _ path: String, _ method: HTTPMethod = .GET, _ fields: [(String, String)] = []
  ) -> ConnectionMachine.Event {
    .head(
      HTTPRequestHead(
        version: .http1_1, method: method, uri: path,
        headers: HTTPHeaders([("Host", "x")] + fields)))
  }

  private func body(_ count: Int) -> ConnectionMachine.Event {
    .body(ByteBuffer(repeating: 7, count: count))
  }

  private func answer(_ status: Int = 200) -> ConnectionMachine.Event {
    .answered(Response(status: status, headers: [:], body: []))
  }

  @Test func oneRequestAtATimeIsAnsweredInOrder() {
    var line = Line()
    #expect(line.take(.bytes, head("/a"), .end, head("/b"), .end) == ["respond /a"])
    #expect(line.take(answer(201)) == ["write 201", "respond /b"])
    #expect(line.take(.flushed, answer(202), .flushed) == ["write 202"])
    #expect(line.machine.isOpen)
  }

  @Test func anAnswerThatNobodyWaitsForIsNone() {
    var line = Line()
    #expect(line.take(answer()) == [])
    #expect(line.take(head("/a"), answer(), answer()) == ["respond /a", "write 200"])
    #expect(line.take(.end, answer(), .flushed, .flushed) == [])
  }

  @Test func aBodyIsReadOnceItIsAskedFor() {
    var line = Line()
    #expect(line.take(head("/a", .POST), .readWanted) == ["respond /a"])
    #expect(line.take(.bodyWanted(limit: 9)) == ["read"])
    #expect(line.take(body(4), .readWanted, body(5)) == ["read"])
    #expect(line.take(.end, .readWanted) == ["give 9"])
    #expect(line.take(answer()) == ["write 200", "read"])
  }

  @Test func whatTheKernelDoesNotTakeIsNotAddedTo() {
    var line = Line()
    #expect(line.take(.writable(false), .readWanted) == [])
    #expect(line.take(.writable(true)) == ["read"])
    #expect(line.take(.writable(true)) == [])
  }

  @Test func aLongBodyIsRefusedAndNotKept() {
    var line = Line()
    _ = line.take(head("/a", .POST), .bodyWanted(limit: Limits.bodyBytes))
    #expect(line.take(body(Limits.bodyBytes)) == [])
    #expect(line.machine.keptBytes == Limits.bodyBytes)
    #expect(line.take(body(1)) == ["give 413"])
    #expect(line.take(body(Limits.bodyBytes)) == [] && line.machine.keptBytes == 0)
    #expect(line.take(answer(413), body(9), .end) == ["write 413"])
    // As the request declares it.
    #expect(line.take(head("/b", .POST, [("Content-Length", "10")])) == ["respond /b"])
    #expect(line.take(.bodyWanted(limit: 9)) == ["give 413"])
  }

  /// Those behind the first request wait, and share its room.
  @Test func allBodiesTogetherAreBounded() {
    var line = Line()
    _ = line.take(head("/a", .POST), body(9), .end)
    for _ in 1..<Limits.unansweredRequests {
      _ = line.take(head("/b", .POST), body(Limits.bodyBytes - 9), .end)
      #expect(line.machine.keptBytes <= Limits.bodyBytes)
    }
    #expect(line.take(.bodyWanted(limit: 10)) == ["give 9"])
    #expect(line.take(answer()) == ["write 200", "respond /b"])
    #expect(line.take(.bodyWanted(limit: Limits.bodyBytes)) == ["give \(Limits.bodyBytes - 9)"])
    #expect(line.take(answer()) == ["write 200", "respond /b"])
    #expect(line.take(.bodyWanted(limit: Limits.bodyBytes)) == ["give 413"])
  }

  @Test func aBodyThatBreaksOffIsSaidToWhoeverWaits() {
    for event in [ConnectionMachine.Event.unreadable, .halfClosed] {
      var line = Line()
      _ = line.take(head("/a", .POST), .bodyWanted(limit: 9))
      #expect(line.take(event) == ["give 400"])
      #expect(line.take(answer(400), .flushed) == ["write 400 last", "close"])
    }
    var line = Line()
    _ = line.take(head("/a", .POST), .bodyWanted(limit: 9))
    #expect(line.take(.closed) == ["give 400"])
    #expect(line.take(.bodyWanted(limit: 9), answer()) == ["give 400"])
  }

  @Test func nothingCountsBehindTheLastRequest() {
    let fields = [("Connection", "close"), ("Upgrade", "x")]
    for field in fields {
      var line = Line()
      #expect(line.take(head("/a", .GET, [field]), .end) == ["respond /a"])
      #expect(line.take(head("/b"), .end, .unreadable, answer()) == ["write 200 last"])
      #expect(line.take(.flushed) == ["close"])
    }
  }

  @Test func whatIsNoRequestIsSaidBehindTheAnswers() {
    var line = Line()
    #expect(line.take(head("/a"), .end, .unreadable, .unreadable) == ["respond /a"])
    #expect(line.take(answer()) == ["write 200", "write 400 last"])
    #expect(line.take(.flushed) == [])
    #expect(line.take(.flushed) == ["close"])
  }

  @Test func aRequestThatOthersMayReadInAnotherWayReachesNobody() {
    var line = Line()
    #expect(line.take(head("/a", .GET, [("Host", "y")])) == ["write 400 last"])
    #expect(line.take(.end, .flushed) == ["close"])
  }

  @Test func fewRequestsWaitForTheirAnswers() {
    var line = Line()
    for _ in 0..<Limits.unansweredRequests { _ = line.take(head("/a"), .end, answer()) }
    #expect(line.take(head("/b"), .end, head("/c"), .end) == ["write 400 last"])
    for _ in 0..<Limits.unansweredRequests { #expect(line.take(.flushed) == []) }
    #expect(line.take(.flushed) == ["close"])
  }

  @Test func whoSendsNothingMoreGetsTheAnswersSoFar() {
    var idle = Line()
    #expect(idle.take(.halfClosed) == ["close"])
    var line = Line()
    #expect(line.take(head("/a"), .end, head("/b"), .end, .halfClosed) == ["respond /a"])
    #expect(line.take(answer()) == ["write 200", "respond /b"])
    #expect(line.take(answer()) == ["write 200 last"])
    #expect(line.take(.flushed, .flushed) == ["close"])
  }

  @Test func aServerThatStopsAnswersTheRequestThatItHas() {
    var idle = Line()
    #expect(idle.take(.stopping) == ["close"])
    var line = Line()
    #expect(line.take(head("/a"), .end, head("/b"), .end, .stopping) == ["respond /a"])
    #expect(line.take(answer(), .flushed) == ["write 200 last", "close"])
    var arriving = Line()
    #expect(arriving.take(head("/a", .POST), .stopping) == ["respond /a"])
    #expect(arriving.take(answer(), .flushed) == ["write 200 last"])
    #expect(arriving.take(.end) == ["close"])
    // An answer that is on its way goes out.
    var leaving = Line()
    #expect(leaving.take(head("/a"), .end, answer(), .stopping) == ["respond /a", "write 200"])
    #expect(leaving.take(.flushed) == ["close"])
  }

  @Test func anAnswerToHEADIsEmpty() {
    var line = Line()
    #expect(line.take(head("/a", .HEAD), .end, answer()) == ["respond /a", "write 200 empty"])
  }

  @Test func whatComesTooLateCloses() {
    for event in [ConnectionMachine.Event.timer, .failed] {
      var line = Line()
      #expect(line.take(head("/a"), event, event) == ["respond /a", "close"])
      #expect(line.take(.end, answer(), .flushed, .readWanted, .stopping) == [])
      #expect(!line.machine.isOpen)
    }
  }

  @Test func eachWaitHasItsTime() {
    var line = Line()
    #expect(line.left == 15)
    line.pass(14)
    _ = line.take(.bytes, head("/a"))
    #expect(line.left == 1)
    _ = line.take(.end)
    #expect(line.left == 60)
    line.pass(9)
    _ = line.take(.bytes, head("/b"), .end, answer())
    #expect(line.left == 51)
    _ = line.take(.flushed)
    #expect(line.left == 60)
    _ = line.take(answer(), .flushed)
    #expect(line.left == 75)
    line.pass(9)
    _ = line.take(.bytes)
    #expect(line.left == 15)
  }

  @Test func anAnswerBeforeTheEndOfARequestGivesTheRestNoMoreTime() {
    var line = Line()
    _ = line.take(.bytes, head("/a", .POST), answer(), .flushed)
    line.pass(9)
    _ = line.take(.bytes, body(9))
    #expect(line.left == 6)
    _ = line.take(.end)
    #expect(line.left == 75)
  }
}
