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
    /// How often the daemon still stays when its time is up.
    var stays = 0
  }

  private func begin(
    _ fixture: ServerFixture, countingFor time: Duration?, staying stays: Int = 0
  ) throws -> Watch {
    let watch = Watch()
    watch.stays = stays
    try fixture.run { _, server in
      let loop = server.loop
      watch.countsUntil = time.map { loop.now + $0 }
      watch.exit = try IdleExit(
        loop: loop, server: server, endpoint: nil, retry: .milliseconds(1), isBusy: { false },
        countsUntil: { watch.countsUntil }
      ) {
        watch.stays -= 1
        if watch.stays < 0 { watch.ended = loop.now }
        return watch.stays < 0
      }
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

  @Test func `one that could not end is asked again`() throws {
    let fixture = try ServerFixture()
    let watch = try begin(fixture, countingFor: nil, staying: 3)
    expect(try fixture.reaches { _, _ in watch.ended != nil })
    expect(try fixture.run { _, _ in watch.stays }, equals: -1)
    try end(fixture, watch)
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
