import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A `type = cognito` backend on a host whose clock is wrong: AWS refuses signatures that are five minutes
/// off.
struct SignatureTimeTests {
  private static let operation = "GetOpenIdTokenForDeveloperIdentity"
  private let fixture: ServiceFixture
  private let aws: StrictClock

  /// Cognito, as to the time of signatures.
  private final class StrictClock {
    /// Its time minus this host's. Its tokens and its other replies have that time too.
    var difference = Duration.zero {
      didSet { upstreams.dateSkew = saysTime ? difference : nil }
    }
    /// Added to what its `Date` says.
    var error = Duration.zero
    var saysTime = true
    /// Whose requests it refuses; nil for all.
    var host: String?
    private(set) var refusals = 0
    private let clock: VirtualClock
    private let upstreams: FakeUpstreams

    init(_ fixture: ServiceFixture) {
      clock = fixture.host.clock
      upstreams = fixture.host.upstreams
      fixture.host.upstreams.answersDeveloperTokens = true
      let others = fixture.host.http.answer
      fixture.host.http.answer = { [unowned self] request in
        guard request.operation == SignatureTimeTests.operation,
          host.map({ request.url.hasPrefix($0) }) ?? true
        else { return others(request) }
        return refusal(of: request.header("X-Amz-Date") ?? "") ?? others(request)
      }
    }

    private var now: WallTime { clock.wallTime + difference }

    private func refusal(of stamp: String) -> FakeHTTP.Answer? {
      // 20231114T221320Z
      let date =
        "\(stamp.prefix(4))-\(stamp.dropFirst(4).prefix(2))-\(stamp.dropFirst(6).prefix(5))"
      let time = "\(stamp.dropFirst(11).prefix(2)):\(stamp.dropFirst(13))"
      guard let signed = WallTime(iso8601: "\(date):\(time)") else {
        return .reply(400, #"{"__type":"IncompleteSignatureException"}"#)
      }
      let off = now - signed
      guard off > .seconds(300) || off < .seconds(-300) else { return nil }
      refusals += 1
      let word = off > .zero ? "Signature expired" : "Signature not yet current"
      return .reply(
        400, #"{"__type":"InvalidSignatureException","message":"\#(word): \#(stamp)"}"#,
        headers: saysTime ? [("Date", FakeUpstreams.httpDate(now + error))] : [])
    }
  }

  init() throws {
    fixture = try ServiceFixture(
      """
      [backend corp]
      type = cognito
      cognito_endpoint = http://127.0.0.1:4599
      credentials_file = /etc/keys

      """ + Configured.profile("default"))
    fixture.host.queries.files["/etc/keys"] =
      "\u{FEFF}[default]\naws_access_key_id = AKIAEXAMPLE\naws_secret_access_key = secret\n"
    aws = StrictClock(fixture)
  }

  private var calls: Int {
    fixture.host.http.requests.count { $0.operation == Self.operation }
  }

  private func newToken() throws -> Reply {
    _ = try fixture.ask(#"{"op":"clear","what":"identity"}"#)
    return try fixture.ask(#"{"wait":30}"#)
  }

  @Test(arguments: [1200, -1200, 86_400 * 300] as [Int64])
  func theCallIsMadeOnceMoreByAWSsTime(_ seconds: Int64) throws {
    aws.difference = .seconds(seconds)
    expect(try newToken().accessKeyID != nil)
    expect(aws.refusals == 1 && calls == 2)
    // The clock is compared, so that the journal says what a person has to do.
    expect(!fixture.host.clock.serverTimes.isEmpty)
    // From now on one request is enough, also an hour later.
    fixture.advance(by: .seconds(3600))
    expect(try newToken().accessKeyID != nil)
    expect(aws.refusals == 1 && calls > 2)
  }

  /// Both were signed before the first refusal came.
  @Test func callsOfTwoUsersAtOnceAreBothMadeOnceMore() throws {
    aws.difference = .seconds(1200)
    let strict = fixture.host.http.answer
    fixture.host.http.answer = {
      var answer = strict($0)
      answer.time = .seconds(1)
      return answer
    }
    let clients = [1000, 1001].map { fixture.connect(uid: $0) }
    for client in clients { client.send(#"{"wait":30}"#) }
    fixture.advance(by: .milliseconds(100))
    expect(aws.refusals, equals: 2)
    fixture.advance(by: .seconds(10))
    for client in clients { expect(try client.next().accessKeyID != nil) }
    expect(aws.refusals == 2 && calls == 4, "\(aws.refusals) \(calls)")
  }

  @Test func aClockThatWasSetIsBelievedAgain() throws {
    aws.difference = .seconds(1200)
    expect(try newToken().accessKeyID != nil)
    fixture.host.clock.setWallClock(by: .seconds(1200))
    aws.difference = .zero
    expect(try newToken().accessKeyID != nil)
    expect(aws.refusals == 2 && calls == 4)
    expect(try newToken().accessKeyID != nil)
    expect(aws.refusals == 2 && calls == 5)
  }

  /// Nobody waits for what no further try would change, and no script tries it again.
  @Test func whereThatDoesNotHelpAPersonMustSetTheClock() throws {
    aws.difference = .seconds(1200)
    aws.error = .seconds(86_400)
    let reply = try newToken()
    expect(reply.errorCode, equals: "BackendUnavailable")
    expect(reply["Error"]?["Kind"]?.text, equals: "permanent")
    expect(reply["Error"]?["RetryAfter"] == nil)
    expect(reply.errorMessage?.contains("set this host's clock") == true, "\(reply)")
    expect(aws.refusals == 2 && calls == 2)
  }

  /// Another try would be signed by the same time.
  @Test func aServerThatSaysNoTimeIsAskedOnce() throws {
    aws.difference = .seconds(1200)
    aws.saysTime = false
    expect(try newToken().errorCode, equals: "BackendUnavailable")
    expect(aws.refusals == 1 && calls == 1)
  }

  /// An emulator whose clock is wrong says nothing about AWS's.
  @Test func theTimeOfOneServerIsNotThatOfAnother() throws {
    _ = try fixture.reload(
      """
      [backend corp]
      type = cognito
      cognito_endpoint = http://127.0.0.1:4599
      credentials_file = /etc/keys

      [backend other]
      type = cognito
      cognito_endpoint = http://127.0.0.1:4600
      credentials_file = /etc/keys

      """ + Configured.profile("default")
        + Configured.profile("other").replacing("backend = corp", with: "backend = other"))
    aws.difference = .seconds(1200)
    aws.host = "http://127.0.0.1:4599"
    expect(try newToken().accessKeyID != nil)
    expect(try fixture.ask(#"{"profile":"other","wait":30}"#).accessKeyID != nil)
    expect(aws.refusals == 1 && calls == 3)
    expect(try newToken().accessKeyID != nil)
    expect(aws.refusals == 1 && calls == 4)
  }

  @Test func aTimeThatIsRightChangesNothing() throws {
    aws.difference = .seconds(120)
    expect(try newToken().accessKeyID != nil)
    expect(aws.refusals == 0 && calls == 1)
  }
}
