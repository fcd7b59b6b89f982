import AuthCore
import Foundation
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1
import SeededRandom
import Synchronization
import Testing

@testable import AuthServer

/// Arbitrary bytes in arbitrary pieces on one connection, with the handlers that a listener gives it. The
/// kernel, the responder and the clock do what they do in any order.
struct ConnectionFuzzTests {
  private static let seeds: ClosedRange<UInt64> =
    ProcessInfo.processInfo.environment["CREDD_FUZZ_SEED"].flatMap { UInt64($0) }.map { $0...$0 }
    ?? 1...600

  @Test func aConnectionKeepsItsWordWhateverComes() throws {
    var ends: [ConnectionRun.End: Int] = [:]
    for seed in Self.seeds {
      let run = try ConnectionRun(seed: seed)
      do throws(ConnectionRun.Fault) {
        let end = try run.run()
        ends[end, default: 0] += 1
      } catch {
        Issue.record("\(error.reason)\nrepeat it: CREDD_FUZZ_SEED=\(seed)\n\(run.story)")
      }
    }
    // Runs that all end in one way would test that way only.
    guard Self.seeds.count > 1 else { return }
    for end in ConnectionRun.End.allCases { #expect(ends[end, default: 0] > 20, "\(end)") }
  }
}

/// One connection from its first byte to its end.
final class ConnectionRun {
  struct Fault: Error { let reason: String }

  enum End: CaseIterable {
    /// The client sends nothing more, and gets what is left.
    case drained
    /// Nothing happens any more until the deadline.
    case silent
    /// The connection closed before.
    case closed
  }

  private var dice: SeededGenerator
  private let channel: EmbeddedChannel
  private let kernel = Kernel()
  private let desk = FuzzDesk()
  private let stream: FuzzStream
  private var rest: ArraySlice<UInt8>
  private var isCut = false
  private var isStopping = false
  private(set) var story = ""

  init(seed: UInt64) throws {
    dice = SeededGenerator(seed: seed)
    stream = FuzzStream(&dice)
    rest = stream.bytes[...]
    let setUp = ConnectionSetUp(
      responder: desk, connections: OpenConnections(limit: 100, metrics: nil),
      faults: ProxyFaults(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
    channel = try setUp.embedded(behind: kernel)
    channel.pipeline.read()
  }

  /// - Returns: how it ended.
  func run() throws(Fault) -> End {
    for _ in 0..<Int.random(in: 1...80, using: &dice) where channel.isActive { try step() }
    guard channel.isActive else {
      try checkAnswers()
      return .closed
    }
    guard Bool.random(using: &dice) else { return try fallSilent() }
    try drain()
    return .drained
  }

  private func step() throws(Fault) {
    switch Int.random(in: 0..<20, using: &dice) {
    case 0..<9: sendPiece()
    case 9..<13: settle("answer") { desk.answer() }
    case 13..<17: settle("take") { kernel.take(1) }
    case 17:
      let isWritable = Bool.random(using: &dice)
      settle("writable \(isWritable)") {
        channel.isWritable = isWritable
        channel.pipeline.fireChannelWritabilityChanged()
      }
    case 18:
      let time = Int64.random(in: 0...12, using: &dice)
      settle("pass \(time)") { channel.embeddedEventLoop.advanceTime(by: .seconds(time)) }
    default:
      switch Int.random(in: 0..<8, using: &dice) {
      case 0: halfClose()
      case 1:
        isStopping = true
        settle("stop") {
          channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
      default: break
      }
    }
    try check()
  }

  /// Only what the server reads comes.
  private func sendPiece() {
    guard kernel.isRead, !isCut, !rest.isEmpty else { return }
    let most = rest.count > 100_000 ? 65_536 : 400
    let piece = rest.prefix(Int.random(in: 1...most, using: &dice))
    rest = rest.dropFirst(piece.count)
    settle("send \(piece.count)") {
      kernel.isRead = false
      receive(piece)
    }
  }

  private func receive(_ bytes: ArraySlice<UInt8>) {
    channel.pipeline.fireChannelRead(ByteBuffer(bytes: bytes))
    channel.pipeline.fireChannelReadComplete()
    channel.pipeline.read()
  }

  /// The kernel gives the end at once, and all before it.
  private func halfClose() {
    guard !isCut else { return }
    isCut = true
    let last = rest
    settle("half-close behind \(last.count)") {
      if !last.isEmpty { receive(last) }
      channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }
  }

  private func settle(_ what: String, _ body: () -> Void) {
    story += what + "\n"
    body()
    channel.embeddedEventLoop.run()
  }

  private func check() throws(Fault) {
    guard channel.isActive else { return }
    let handler = try? channel.pipeline.syncOperations.handler(type: ConnectionHandler.self)
    guard let machine = handler?.machine else { throw Fault(reason: "no handler") }
    guard machine.keptBytes <= Limits.bodyBytes else {
      throw Fault(reason: "\(machine.keptBytes) bytes are kept")
    }
    guard max(machine.unanswered, kernel.waiting) <= Limits.unansweredRequests + 1 else {
      throw Fault(reason: "\(machine.unanswered) requests wait, \(kernel.waiting) answers")
    }
    guard !kernel.isRead || isCut || !desk.isAsked else {
      throw Fault(reason: "it reads behind a request whose body nobody wants")
    }
    try checkAnswers()
  }

  /// What the client has so far: an answer to each request, in order, and nothing behind the last one.
  private func checkAnswers(areWhole: Bool = false) throws(Fault) {
    let answers = try FuzzAnswer.read(kernel.taken, methods: desk.methods)
    let numbers = answers.compactMap(\.number)
    guard numbers == Array(0..<numbers.count) else { throw Fault(reason: "answers: \(numbers)") }
    if let last = answers.firstIndex(where: \.isLast), last < answers.count - 1 {
      throw Fault(reason: "\(answers.count - last - 1) answers behind the last one")
    }
    if let refusal = answers.firstIndex(where: { $0.number == nil }), refusal < answers.count - 1 {
      throw Fault(reason: "a refusal is not the last answer")
    }
    guard areWhole else { return }
    guard numbers.count == desk.methods.count else {
      throw Fault(reason: "\(desk.methods.count) requests, \(numbers.count) answers")
    }
    guard let expected = stream.expected, !isStopping else { return }
    guard answers.map(\.status) == expected else {
      throw Fault(reason: "\(answers.map(\.status)) in place of \(expected)")
    }
  }

  /// Everybody does what is left to do: it ends, without waiting for a deadline.
  private func drain() throws(Fault) {
    settle("writable") {
      channel.isWritable = true
      channel.pipeline.fireChannelWritabilityChanged()
    }
    halfClose()
    for _ in 0..<100 where channel.isActive {
      settle("answer and take") {
        desk.answer()
        channel.embeddedEventLoop.run()
        kernel.take(100)
      }
      try check()
    }
    guard !channel.isActive else { throw Fault(reason: "it does not end") }
    try checkAnswers(areWhole: kernel.failures == 0)
  }

  private func fallSilent() throws(Fault) -> End {
    settle("silence") {
      channel.embeddedEventLoop.advanceTime(by: .milliseconds(Limits.idleTime.milliseconds))
    }
    guard !channel.isActive else { throw Fault(reason: "it stays open without a deadline") }
    try checkAnswers()
    return .silent
  }
}

/// Gives what the server reads, and takes what it writes, when the test says so.
private final class Kernel: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer

  private var queue: [(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)] = []
  /// The server wants to read.
  var isRead = false
  private(set) var taken: [UInt8] = []
  /// Writes that the client never gets.
  private(set) var failures = 0

  /// Answers that wait: the end of each has a promise.
  var waiting: Int { queue.count { $0.promise != nil } }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    queue.append((unwrapOutboundIn(data), promise))
  }

  func flush(context: ChannelHandlerContext) {}

  func read(context: ChannelHandlerContext) { isRead = true }

  func take(_ answers: Int) {
    for _ in 0..<answers {
      while !queue.isEmpty {
        let part = queue.removeFirst()
        taken += part.bytes.readableBytesView
        guard let promise = part.promise else { continue }
        promise.succeed()
        break
      }
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    for part in queue {
      failures += 1
      part.promise?.fail(ChannelError.ioOnClosedChannel)
    }
    queue = []
  }
}
