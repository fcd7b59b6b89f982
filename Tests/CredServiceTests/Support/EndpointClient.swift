import CredCore
import SimulationKit
import Testing

@testable import CredService
@testable import ServiceTesting

/// A connection to the endpoint that the kernel has attested, with the answers that came.
final class EndpointClient: PeerFacts, ReplySink {
  let peer: Peer
  var systemdUnit: String?
  private(set) var answers: [Answer] = []
  private(set) var isFinished = false
  private var client: Client?
  private let service: SessionService
  private let clock: VirtualClock

  init(_ fixture: ServiceFixture, uid: UInt32 = 1000, unit: String? = nil) {
    peer = Peer(uid: uid, gid: 0, pid: 0)
    service = fixture.service
    clock = fixture.host.clock
    systemdUnit = unit
    if service.owners.door.lock == nil { service.endpointStarted(EndpointLock.test) }
    client = service.connectedToEndpoint(self, self)
  }

  deinit { leave() }

  var isWaiting: Bool { client?.isWaiting ?? false }

  /// Asks for a profile, and waits for the answer as long as it takes.
  func ask(
    _ profile: String, _ token: Secret?, closes: Bool = false,
    _ location: SourceLocation = #_sourceLocation
  ) throws -> Answer {
    let before = answers.count
    send(profile, token, closes: closes)
    let end = clock.now + .seconds(10)
    while answers.count == before, let next = clock.nextDeadline, next <= end {
      clock.advance(to: next)
    }
    return try #require(answers.count > before ? answers[before] : nil, sourceLocation: location)
  }

  func send(_ profile: String, _ token: Secret?, closes: Bool = false) {
    guard let client else { return }
    var request = EndpointRequest()
    request.target = Array("/credentials/\(profile)".utf8)
    request.host = Array("127.0.0.1".utf8)
    request.token = token
    request.closes = closes
    clock.advance(by: .microseconds(1))
    service.receive(request, from: client, arrived: clock.now, now: clock.now)
    clock.settle()
  }

  func leave() {
    guard let client else { return }
    self.client = nil
    service.left(client)
  }

  // MARK: ReplySink

  func send(_ reply: [UInt8]) { answers.append(Answer(reply)) }
  func finish() { isFinished = true }

  // MARK: PeerFacts

  func groups() -> [UInt32] { [] }
  func unit() -> String? { systemdUnit }
  func isAlive() -> Bool { false }
  func startTime() -> Instant? { nil }
}

/// An HTTP response.
struct Answer: Equatable {
  let text: String
  let status: Int?
  let json: JSONValue?

  init(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    self.text = text
    status = Int(text.split(separator: " ").dropFirst().first ?? "")
    let body = text.firstRange(of: "\r\n\r\n").map { text[$0.upperBound...] } ?? ""
    json = try? JSONValue.parse(Array(body.utf8))
  }

  subscript(key: String) -> JSONValue? { json?[key] }
}

extension EndpointLock {
  /// A key that tests know.
  static let test: EndpointLock? = TokenKey(
    Secret([UInt8](repeating: 1, count: 32)), ToyCrypto()
  ).map {
    EndpointLock(
      key: $0, digests: ToyCrypto(),
      place: Place(address: EndpointAddress(port: 337), networkNamespace: 4))
  }

  static func token(
    _ owner: TokenOwner, for profile: String = "default"
  ) throws -> Secret {
    var random: any RandomNumberGenerator = SystemRandomNumberGenerator()
    let lock = try #require(test)
    return lock.token(of: owner, for: profile, at: WallTime(milliseconds: 0), &random).text
  }
}
