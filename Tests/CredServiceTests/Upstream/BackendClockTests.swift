import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// A backend whose clock is wrong. AWS makes the tokens and judges them, so nothing counts by it.
struct BackendClockTests {
  private func fixture(backend: Duration, aws: Duration = .zero) throws -> ServiceFixture {
    let fixture = try ServiceFixture()
    fixture.host.upstreams.dateSkew = aws
    fixture.host.upstreams.backendSkew = backend
    return fixture
  }

  private func warnings(_ fixture: ServiceFixture) -> [String] {
    fixture.host.log.messages.filter { $0.hasPrefix("the clock of backend") }
  }

  /// The tokens live for 15 minutes.
  @Test(arguments: [1200, -1200])
  func costsNobodyCredentials(seconds: Int) throws {
    let fixture = try fixture(backend: .seconds(seconds))
    expect(try fixture.ask().accessKeyID != nil)
    // Nobody can tell yet which clock is wrong.
    expect(warnings(fixture), equals: [])
    fixture.advance(by: .seconds(60))
    expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
    let word = seconds > 0 ? "fast" : "slow"
    expect(
      warnings(fixture), equals: ["the clock of backend 'corp' is 1200 s \(word): set it there"])
    fixture.advance(by: .seconds(60))
    expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
    expect(warnings(fixture).count, equals: 1)
    fixture.host.upstreams.backendSkew = .zero
    fixture.advance(by: .seconds(60))
    expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
    expect(warnings(fixture).last, equals: "the clock of backend 'corp' is right again")
  }

  @Test(arguments: [1200, -1200])
  func aWrongClockOfThisHostCostsNothingEither(seconds: Int) throws {
    let fixture = try fixture(backend: .zero, aws: .seconds(seconds))
    for _ in 0..<2 {
      expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
      fixture.advance(by: .seconds(60))
    }
    expect(warnings(fixture), equals: [])
  }

  /// Another profile may have an endpoint of its own, whose clock is nobody's business.
  @Test(arguments: [86400, -86400])
  func aServerOfAWSWithAWrongClockLocksOutNobody(seconds: Int) throws {
    let fixture = try fixture(backend: .zero, aws: .seconds(seconds))
    _ = try fixture.ask()
    fixture.host.upstreams.dateSkew = .zero
    fixture.advance(by: .seconds(60))
    expect(try fixture.ask(#"{"refresh":true}"#).accessKeyID != nil)
  }

  @Test func aTokenThatHasExpiredIsTheBackendsFault() throws {
    let fixture = try fixture(backend: .zero)
    fixture.host.upstreams.tokenLifetime = .seconds(-60)
    let refused = try fixture.ask(#"{"wait":1}"#)
    expect(refused["Error"]?["Kind"]?.text, equals: "permanent", "\(refused)")
    expect(refused.errorMessage?.contains("a token that has expired already") == true)
  }

  @Test func aCheckNamesTheClockThatIsWrong() throws {
    let fixture = try fixture(backend: .seconds(1200))
    let reply = try fixture.ask(#"{"op":"check"}"#)
    expect(reply["Ok"]?.bool == true, "\(reply.text)")
    let details = reply.steps.map(\.detail)
    expect(details[0].contains("its clock is 1200 s fast: set it there"), "\(details)")
    expect(details[1].contains("its clock agrees"), "\(details)")
  }
}
