import CredCore
import Testing

@testable import CredService

/// A client of a service: what the kernel says of it, the lines that it sends, and the replies.
///
/// As its server does, it hands over no further line while a request waits, and the lines behind one
/// that was answered a moment later.
final class TestClient: PeerFacts, ReplySink {
  let peer: Peer
  var memberships: [UInt32]
  var systemdUnit: String?
  var isUnitHidden = false
  var isRunning = true
  var began: Instant?
  private(set) var replies: [Reply] = []
  private(set) var client: Client?
  private let service: any LineReceiving
  private let clock: VirtualClock
  private var unsent: [String] = []
  private var timer: (any Timer)?
  /// Replies that were read by ``next()``.
  private var read = 0

  init(
    _ service: any LineReceiving, _ clock: VirtualClock, peer: Peer, groups: [UInt32],
    at socket: ClientSocket = .main
  ) {
    self.peer = peer
    self.service = service
    self.clock = clock
    memberships = groups
    client = service.connected(self, self, at: socket)
    timer = clock.makeTimer { [unowned self] in self.handOver() }
  }

  deinit { leave() }

  var isWaiting: Bool { client?.isWaiting ?? false }

  /// Sends a line a moment later than whatever was before, and does everything that is due then.
  func send(_ line: String) {
    clock.advance(by: .microseconds(1))
    sendOnly(line)
    clock.settle()
  }

  /// Sends a line; nothing else happens.
  func sendOnly(_ line: String) {
    unsent.append(line)
    handOver()
  }

  func leave() {
    guard let client else { return }
    self.client = nil
    service.left(client)
  }

  /// The first reply that was not read yet.
  func next(_ location: SourceLocation = #_sourceLocation) throws -> Reply {
    let reply = try #require(
      replies.count > read ? replies[read] : nil, "there is no reply yet", sourceLocation: location)
    read += 1
    return reply
  }

  /// Whether there is no reply that was not read.
  var hasReadAll: Bool { read == replies.count }

  /// Sends a line and waits for its reply, as long as it takes.
  func ask(_ line: String, _ location: SourceLocation = #_sourceLocation) throws -> Reply {
    send(line)
    let end = clock.now + Self.patience
    while hasReadAll, let next = clock.nextDeadline, next <= end { clock.advance(to: next) }
    return try next(location)
  }

  /// Longer than any request may wait.
  private static let patience = Duration.seconds(400)

  private func handOver() {
    while let client, !client.isWaiting, !unsent.isEmpty {
      let line = Array(unsent.removeFirst().utf8)
      _ = service.receive(line.span, from: client, now: clock.now)
    }
  }

  // MARK: ReplySink

  /// Whether the service has ended the connection.
  private(set) var isFinished = false

  func finish() {
    isFinished = true
    unsent = []
  }

  func send(_ reply: [UInt8]) {
    replies.append(Reply(reply))
    if !unsent.isEmpty { timer?.arm(at: clock.now) }
  }

  // MARK: PeerFacts

  func groups() -> [UInt32] { memberships }
  func unit() -> String? { systemdUnit }
  func isAlive() -> Bool { isRunning }
  func startTime() -> Instant? { began }
}

/// One line of JSON from a service.
struct Reply: Equatable, CustomStringConvertible {
  let text: String
  let json: JSONValue?

  init(_ bytes: [UInt8]) {
    text = String(decoding: bytes.last == 0x0A ? bytes.dropLast() : bytes, as: UTF8.self)
    json = try? JSONValue.parse(bytes)
  }

  var description: String { text }

  subscript(key: String) -> JSONValue? { json?[key] }

  var errorCode: String? { self["Error"]?["Code"]?.text }
  var errorMessage: String? { self["Error"]?["Message"]?.text }
  var accessKeyID: String? { self["AccessKeyId"]?.text }
  var state: String? { self["State"]?.text }
}

extension JSONValue {
  subscript(index: Int) -> JSONValue? {
    guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
    return elements[index]
  }

  var count: Int? { if case .array(let elements) = self { elements.count } else { nil } }
}
