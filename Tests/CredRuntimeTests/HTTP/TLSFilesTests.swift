import CredCore
import Foundation
import TestSupport
import Testing

@testable import CredRuntime
@testable import CredService

/// Files that TLS takes, replaced while the daemon runs.
struct TLSFilesTests {
  private static let made = Result { try Certificates() }
  private let certificates: Certificates
  private let folder: TemporaryFolder

  init() throws {
    certificates = try Self.made.get()
    folder = try TemporaryFolder()
  }

  /// How a file is replaced.
  enum Way: CaseIterable {
    case rename
    case inPlace
  }

  private func path(_ name: String) -> String { "\(folder.path)/\(name).pem" }

  /// Makes a file say what another one says.
  private func put(_ source: String, as name: String, _ way: Way = .inPlace) throws {
    let content = try Data(contentsOf: URL(filePath: certificates.path(source)))
    switch way {
    case .inPlace:
      try content.write(to: URL(filePath: path(name)))
    case .rename:
      try content.write(to: URL(filePath: path("new")))
      let failed = unsafe rename(path("new"), path(name))
      expect(failed, equals: 0)
    }
  }

  private func get(
    _ fake: TLSFake, _ client: ClientFixture, withCertificate: Bool = false
  ) throws -> Result<HTTPReply, TransportFailure> {
    let (authority, certificate, key) = (path("ca"), path("client"), path("client-key"))
    return try client.send(HTTPRequest(method: .get, url: fake.url)) {
      $0.caFile = authority
      if withCertificate { ($0.clientCertificate, $0.clientKey) = (certificate, key) }
    }
  }

  @Test(arguments: Way.allCases, [true, false])
  func `an authority that was taken out is not trusted any more`(
    _ way: Way, keepsConnections: Bool
  ) throws {
    let fake = try TLSFake(certificates, "good", keepsConnections: keepsConnections)
    let client = try ClientFixture()
    try put("ca", as: "ca")
    expect(try get(fake, client).text != nil)
    expect(try get(fake, client).text != nil)
    try put("other", as: "ca", way)
    expect(try get(fake, client).failure, equals: .certificate)
    try put("ca", as: "ca", way)
    expect(try get(fake, client).text != nil)
  }

  @Test func `an authority whose file is gone is not trusted any more`() throws {
    let fake = try TLSFake(certificates, "good", keepsConnections: true)
    let client = try ClientFixture()
    try put("ca", as: "ca")
    expect(try get(fake, client).text != nil)
    try FileManager.default.removeItem(atPath: path("ca"))
    expect(try get(fake, client).failure, equals: .ownFile)
  }

  @Test(arguments: Way.allCases, [true, false])
  func `a renewed client certificate is shown at the next request`(
    _ way: Way, keepsConnections: Bool
  ) throws {
    let fake = try TLSFake(
      certificates, "good", asksForClient: true, keepsConnections: keepsConnections)
    let client = try ClientFixture()
    try put("ca", as: "ca")
    try put("client", as: "client")
    try put("client-key", as: "client-key")
    expect(try get(fake, client, withCertificate: true).text?.hasPrefix("TLSv1.3 client") == true)
    try put("renewed", as: "client", way)
    try put("renewed-key", as: "client-key", way)
    let reply = try get(fake, client, withCertificate: true)
    expect(reply.text?.hasPrefix("TLSv1.3 renewed new") == true, "\(reply)")
  }

  @Test func `a key that does not fit any more ends the use of the kept connection`() throws {
    let fake = try TLSFake(certificates, "good", asksForClient: true, keepsConnections: true)
    let client = try ClientFixture()
    try put("ca", as: "ca")
    try put("client", as: "client")
    try put("client-key", as: "client-key")
    expect(try get(fake, client, withCertificate: true).text, equals: "TLSv1.3 client new 1")
    try put("renewed-key", as: "client-key")
    expect(try get(fake, client, withCertificate: true).failure, equals: .ownFile)
  }

  @Test func `connections are kept while files stay, and until a configuration is read`() throws {
    let fake = try TLSFake(certificates, "good", keepsConnections: true)
    let client = try ClientFixture()
    try put("ca", as: "ca")
    expect(try get(fake, client).text, equals: "TLSv1.3 nobody new 1")
    expect(try get(fake, client).text, equals: "TLSv1.3 nobody new 2")
    try client.configurationChanged()
    expect(try get(fake, client).text, equals: "TLSv1.3 nobody new 1")
    expect(try get(fake, client).text, equals: "TLSv1.3 nobody new 2")
  }

  @Test func `requests under way go on, and count for the limit of connections`() throws {
    let mayAnswer = DispatchSemaphore(value: 0)
    let slow = try HTTPFake { _ in
      _ = mayAnswer.waitWithLimit()
      return .json("late")
    }
    let client = try ClientFixture(connections: 2)
    let slowURL = HTTPRequest(method: .get, url: slow.url)
    let results = try client.sendTogether([
      (slowURL, HangLimit.duration), (slowURL, HangLimit.duration),
    ]) { client in
      client.configurationChanged()
      for _ in 0..<2 { mayAnswer.signal() }
    }
    expect(results.map(\.text), equals: ["late", "late"])
    let fake = try HTTPFake { .json("\($0.number)") }
    expect(try client.get(fake.url).text, equals: "1")
    expect(try client.get(fake.url).text, equals: "2")
  }

  @Test func `a file that does not answer fails its requests alone, and takes one thread`() throws {
    let fake = try TLSFake(certificates, "good")
    let stuck = StuckFiles()
    let client = try ClientFixture { loop, parts in
      stuck.wrap(parts.background, loop)
      return (parts.clock, stuck)
    }
    try put("ca", as: "ca")
    let failure = try get(fake, client).failure
    expect(failure, equals: .fileOverdue)
    expect(failure?.reason?.contains(path("ca")) == true)
    expect(try get(fake, client).failure, equals: .fileOverdue)
    expect(try client.thread.run { _ in stuck.looks }, equals: 1)
    let other = try HTTPFake { _ in .json("answered") }
    expect(try client.get(other.url).text, equals: "answered")
    try client.thread.run { _ in stuck.release() }
    expect(try get(fake, client).text, equals: "TLSv1.3 nobody new")
  }
}

/// Threads of which those that look at files hang at first. Used on the loop alone.
private final class StuckFiles: Background, @unchecked Sendable {
  private var real: (any Background)?
  private unowned var loop: EventLoop?
  private var timer: EventSource?
  private var isStuck = true
  private var hanging: [() -> Void] = []
  private(set) var looks = 0

  func wrap(_ background: any Background, _ loop: EventLoop) {
    real = background
    self.loop = loop
  }

  func run<Value: Sendable>(
    _ lane: BackgroundLane, deadline: Instant, _ work: @escaping @Sendable () -> Value,
    completion: @escaping (BackgroundOutcome<Value>) -> Void
  ) {
    guard lane == .files, isStuck, let loop else {
      real?.run(lane, deadline: deadline, work, completion: completion)
      return
    }
    looks += 1
    hanging.append { completion(.finished(work())) }
    timer = try? loop.timer { _ in completion(.overdue(isRunning: true)) }
    timer?.arm(at: loop.now)
  }

  /// What hangs goes on.
  func release() {
    isStuck = false
    for goOn in hanging { goOn() }
  }
}
