import CredCore
import enum CredctlKit.EventLine
import Testing

@testable import CredService
@testable import ServiceTesting

/// A program that asks for credentials all the time, as SDKs do that read `credential_process`.
final class StoryProgram {
  private let name: String
  private let person: Person
  private let requests: [String]
  private let interval: Duration
  /// Whether the story tells of each change. Of a program without pause it tells each answer once.
  private var isPatient: Bool { interval >= .seconds(60) }
  private var client: TestClient?
  private var clock: VirtualClock?
  private var timer: (any CredService.Timer)?
  private var sent = 0
  private var last = ""
  private var told: Set<String> = []

  /// - Parameters:
  ///   - requests: what it asks, in turn.
  ///   - interval: how often.
  init(
    _ name: String, of person: Person = .alice, _ requests: String...,
    every interval: Duration = .seconds(60)
  ) {
    self.interval = interval
    self.name = name
    self.person = person
    self.requests = requests
  }

  func start(_ fixture: ServiceFixture) {
    let clock = fixture.host.clock
    self.clock = clock
    client = TestClient(fixture.service, clock, peer: person.peer, groups: person.groups)
    client?.began = clock.now
    timer = clock.makeTimer { [unowned self] in
      // It does not ask anew while it waits.
      if client?.isWaiting == false {
        client?.sendOnly(requests[sent % requests.count])
        sent += 1
      }
      timer?.arm(at: clock.now + interval)
    }
    timer?.arm(at: clock.now)
    clock.settle()
  }

  func stop() { timer = nil }

  /// What it got since the last look.
  func news() -> [String] {
    guard let client else { return [] }
    var news: [String] = []
    while !client.hasReadAll, let reply = try? client.next() {
      let text = text(of: reply)
      let isNew = isPatient ? text != last : told.insert(text).inserted
      if isNew { news.append("\(name) of \(person.name) gets \(text)") }
      last = text
    }
    return news
  }

  /// An event as `credctl watch` shows it, without the time.
  private func event(_ reply: Reply) -> String? {
    guard reply["Event"] != nil, let now = clock?.wallTime,
      let value = try? JSONValue.parse(Array(reply.text.utf8)),
      let line = EventLine.text(of: value, now: now)
    else { return nil }
    return String(line.dropFirst(now.iso8601.count + 1))
  }

  private func text(of reply: Reply) -> String {
    if let event = event(reply) { return event }
    if reply.errorCode == nil, reply.accessKeyID == nil { return reply.state ?? reply.text }
    guard let key = reply.accessKeyID, let end = reply["Expiration"]?.text else {
      return "\(reply.errorCode ?? reply.text): \(reply.errorMessage ?? "")"
    }
    return isPatient ? "\(key) until \(end)" : "new credentials each time"
  }
}
