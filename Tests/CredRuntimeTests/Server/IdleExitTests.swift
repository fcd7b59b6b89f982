import CredCore
import TestSupport
import Testing

@testable import CredRuntime

/// The end of a daemon that nobody uses.
struct IdleExitTests {
  /// Only the loop's thread touches it.
  private final class Watch: @unchecked Sendable {
    var exit: IdleExit?
    var countsUntil: Instant?
    var ended: Instant?
  }

  private func begin(_ fixture: ServerFixture, countingFor time: Duration?) throws -> Watch {
    let watch = Watch()
    try fixture.run { _, server in
      let loop = server.loop
      watch.countsUntil = time.map { loop.now + $0 }
      watch.exit = try IdleExit(
        loop: loop, server: server, endpoint: nil, isBusy: { false },
        countsUntil: { watch.countsUntil }
      ) { watch.ended = loop.now }
      watch.exit?.limit = .milliseconds(1)
    }
    return watch
  }

  private func end(_ fixture: ServerFixture, _ watch: Watch) throws {
    try fixture.run { _, _ in watch.exit = nil }
  }

  @Test func `an idle daemon ends, whatever counted before`() throws {
    let fixture = try ServerFixture()
    for time in [nil, Duration.seconds(-1)] {
      let watch = try begin(fixture, countingFor: time)
      expect(try fixture.reaches { _, _ in watch.ended != nil })
      try end(fixture, watch)
    }
  }

  @Test func `it does not end while a guess counts`() throws {
    let fixture = try ServerFixture()
    let watch = try begin(fixture, countingFor: .milliseconds(100))
    expect(try fixture.reaches { _, _ in watch.ended != nil })
    let (ended, until) = try fixture.run { _, _ in (watch.ended, watch.countsUntil) }
    try end(fixture, watch)
    expect(ended.flatMap { end in until.map { end >= $0 } }, equals: true)
  }
}
