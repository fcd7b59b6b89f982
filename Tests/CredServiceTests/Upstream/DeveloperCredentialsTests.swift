import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// The developer credentials of a `type = cognito` backend with `credential_process`.
struct DeveloperCredentialsTests {
  private static let operation = "GetOpenIdTokenForDeveloperIdentity"

  private static func text(_ command: String = "/bin/keys", profiles: Int = 1) -> String {
    """
    [backend corp]
    type = cognito
    timeout = 2s
    cognito_endpoint = http://127.0.0.1:4599
    credential_process = \(command)

    """
      + (0..<profiles).map { Configured.profile($0 == 0 ? "default" : "p\($0)") }.joined()
  }

  /// The command prints keys of its own each time, which last as long as it is told.
  private final class Keys {
    var lifetime: Duration?
    var fails = false
    private(set) var runs = 0
    private(set) var commands: [String] = []

    init(_ fixture: ServiceFixture) {
      fixture.host.upstreams.answersDeveloperTokens = true
      let clock = fixture.host.clock
      fixture.host.commands.outcome = { [unowned self] command in
        runs += 1
        commands.append(command.arguments.joined(separator: " "))
        if fails { return ExecOutcome(ending: .exited(1)) }
        let end = lifetime.map { #","Expiration":"\#((clock.wallTime + $0).iso8601)""# } ?? ""
        let text =
          #"{"Version":1,"AccessKeyId":"AKIAEXAMPLE\#(runs)","SecretAccessKey":"s"\#(end)}"#
        return ExecOutcome(ending: .exited(0), standardOutput: Secret(text))
      }
    }
  }

  /// The keys that signed each call, in order.
  private func signers(_ fixture: ServiceFixture) -> [String] {
    fixture.host.http.requests.filter { $0.operation == Self.operation }.compactMap {
      $0.header("Authorization")?.split(separator: "Credential=AKIAEXAMPLE").last
        .map { String($0.prefix { $0 != "/" }) }
    }
  }

  /// A new developer token for a profile, as nothing is left of the last one.
  private func newToken(_ fixture: ServiceFixture, _ profile: String = "default") throws -> Reply {
    _ = try fixture.ask(#"{"op":"clear","what":"identity","profile":"\#(profile)"}"#)
    return try fixture.ask(#"{"profile":"\#(profile)","wait":30}"#)
  }

  @Test func manyCallsRunTheCommandOnce() throws {
    let fixture = try ServiceFixture(Self.text(profiles: 12))
    let keys = Keys(fixture)
    fixture.host.commands.time = .seconds(1)
    let clients = (0..<12).map { _ in fixture.connect() }
    for (index, client) in clients.enumerated() {
      client.send(#"{"profile":"\#(index == 0 ? "default" : "p\(index)")","wait":30}"#)
    }
    fixture.advance(by: .seconds(3))
    for client in clients { expect(try client.next().accessKeyID != nil) }
    expect(keys.runs, equals: 1)
    expect(signers(fixture), equals: Array(repeating: "1", count: 12))
  }

  @Test func aRunThatFailsFailsEveryCallThatWaits() throws {
    let fixture = try ServiceFixture(Self.text(profiles: 3))
    let keys = Keys(fixture)
    keys.fails = true
    fixture.host.commands.time = .seconds(1)
    let clients = (0..<3).map { _ in fixture.connect() }
    for (index, client) in clients.enumerated() {
      client.send(#"{"profile":"\#(index == 0 ? "default" : "p\(index)")","wait":1.5}"#)
    }
    fixture.advance(by: .seconds(2))
    for client in clients { expect(try client.next().errorCode, equals: "BackendUnavailable") }
    expect(keys.runs, equals: 1)
    keys.fails = false
    fixture.advance(by: .seconds(60))
    expect(try newToken(fixture).accessKeyID != nil)
  }

  @Test func theyAreRenewedAheadAndNoCallWaitsForThat() throws {
    let fixture = try ServiceFixture(Self.text())
    let keys = Keys(fixture)
    keys.lifetime = .seconds(3600)
    expect(try newToken(fixture).accessKeyID != nil)
    fixture.advance(by: .seconds(600))
    expect(try newToken(fixture).accessKeyID != nil)
    expect(keys.runs, equals: 1)
    // Beyond the half of their life, and long before their end.
    fixture.advance(by: .seconds(1500))
    fixture.host.commands.time = .seconds(1)
    expect(try newToken(fixture).accessKeyID != nil)
    expect(keys.runs, equals: 2)
    fixture.advance(by: .seconds(1))
    expect(try newToken(fixture).accessKeyID != nil)
    expect(signers(fixture), equals: ["1", "1", "1", "2"])
  }

  @Test func aRenewalThatFailsLeavesThemInUse() throws {
    let fixture = try ServiceFixture(Self.text())
    let keys = Keys(fixture)
    keys.lifetime = .seconds(3600)
    expect(try newToken(fixture).accessKeyID != nil)
    fixture.advance(by: .seconds(2100))
    keys.fails = true
    for _ in 1...3 { expect(try newToken(fixture).accessKeyID != nil) }
    // Once in each pause.
    expect(keys.runs, equals: 2)
    fixture.advance(by: DeveloperCredentialsCache.pause)
    expect(try newToken(fixture).accessKeyID != nil)
    expect(keys.runs, equals: 3)
    expect(signers(fixture).allSatisfy { $0 == "1" })
    // They are not used beyond their end.
    fixture.advance(by: .seconds(1500))
    expect(try newToken(fixture).errorCode, equals: "BackendUnavailable")
    expect(signers(fixture).count, equals: 5)
  }

  @Test func refusedKeysAreDroppedAndTheCallIsMadeOnceMore() throws {
    let fixture = try ServiceFixture(Self.text())
    let keys = Keys(fixture)
    expect(try newToken(fixture).accessKeyID != nil)
    // The organisation rotated its keys.
    let refusal =
      #"{"__type":"UnrecognizedClientException","message":"The security token is invalid."}"#
    fixture.host.upstreams.faults[Self.operation] = .status(400, refusal, count: 1)
    expect(try newToken(fixture).accessKeyID != nil)
    expect(keys.runs, equals: 2)
    expect(signers(fixture), equals: ["1", "1", "2"])
    // Keys that are new and refused are wrong: no more than one request for them.
    fixture.host.upstreams.faults[Self.operation] = .status(400, refusal)
    expect(try newToken(fixture).errorCode, equals: "BackendRejected")
    expect(signers(fixture), equals: ["1", "1", "2", "2", "3"])
    fixture.host.upstreams.faults = [:]
    fixture.advance(by: .seconds(6))
    expect(try newToken(fixture).accessKeyID != nil)
    expect(signers(fixture).last, equals: "4")
  }

  @Test func aFailureOfAnotherKindKeepsThem() throws {
    let fixture = try ServiceFixture(Self.text())
    let keys = Keys(fixture)
    expect(try newToken(fixture).accessKeyID != nil)
    for fault in [
      FakeUpstreams.Fault.failure(.reset, count: 1), .status(500, "", count: 1),
    ] {
      fixture.host.upstreams.faults[Self.operation] = fault
      expect(try newToken(fixture).accessKeyID != nil)
    }
    // Without the server's time another try would be signed alike.
    fixture.host.upstreams.faults[Self.operation] = .status(
      400, #"{"__type":"InvalidSignatureException","message":"Signature expired: now"}"#, count: 1)
    expect(try newToken(fixture).errorCode, equals: "BackendUnavailable")
    fixture.advance(by: .seconds(6))
    expect(try newToken(fixture).accessKeyID != nil)
    expect(keys.runs, equals: 1)
  }

  @Test func aReloadAsksForThemAnew() throws {
    let fixture = try ServiceFixture(Self.text())
    let keys = Keys(fixture)
    expect(try newToken(fixture).accessKeyID != nil)
    try fixture.reload(Self.text())
    expect(try newToken(fixture).accessKeyID != nil)
    expect(keys.runs, equals: 2)
  }

  /// The late result of the former command is for the calls that wait for it, and for nobody else.
  @Test func aRunFromBeforeAReloadIsNotTheNewCommandsResult() throws {
    let fixture = try ServiceFixture(Self.text("/bin/old", profiles: 2))
    let keys = Keys(fixture)
    fixture.host.commands.time = .seconds(1)
    let first = fixture.connect()
    first.send(#"{"wait":30}"#)
    try fixture.reload(Self.text("/bin/new", profiles: 2))
    let second = fixture.connect()
    second.send(#"{"profile":"p1","wait":30}"#)
    fixture.advance(by: .seconds(5))
    expect(try first.next().accessKeyID != nil)
    expect(try second.next().accessKeyID != nil)
    expect(try newToken(fixture).accessKeyID != nil)
    expect(keys.commands, equals: ["/bin/old", "/bin/new"])
    expect(signers(fixture), equals: ["1", "2", "2"])
    // The same command again: what it printed before a reload is not used after it.
    let third = fixture.connect()
    try fixture.reload(Self.text("/bin/new", profiles: 2))
    third.send(#"{"refresh":true,"wait":30}"#)
    try fixture.reload(Self.text("/bin/new", profiles: 2))
    fixture.advance(by: .seconds(5))
    expect(try newToken(fixture).accessKeyID != nil)
    expect(keys.commands.last, equals: "/bin/new")
    expect(signers(fixture).last, equals: "\(keys.runs)")
  }
}
