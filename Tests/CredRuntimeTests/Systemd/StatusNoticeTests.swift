import CredCore
import TestSupport
import Testing

@testable import CredRuntime
@testable import CredService

struct StatusNoticeTests {
  /// Only the loop's thread touches it.
  private final class Told: @unchecked Sendable {
    var lines: [String] = []
    var status = ServiceStatus()
    var notice: StatusNotice?
  }

  private let thread: LoopThread
  private let told = Told()

  init() throws {
    thread = try LoopThread()
    try thread.run { [told] loop in
      told.notice = try StatusNotice(
        loop: loop, tell: { told.lines.append($0) }, present: { told.status })
      told.notice?.update()
    }
  }

  private func lines(_ body: @escaping @Sendable (StatusNotice) -> Void) throws
    -> [String]
  {
    defer { thread.stop() }
    return try thread.run { [told] _ in
      guard let notice = told.notice else { return [] }
      body(notice)
      defer { told.notice = nil }
      return told.lines
    }
  }

  @Test func `what is shown already is not told again`() throws {
    expect(try lines { notice in notice.update() }, equals: ["STATUS=0 sessions"])
  }

  /// A reload shows what it does; afterwards the status is back, though nothing changed.
  @Test func `what was told meanwhile is replaced`() throws {
    expect(
      try lines { notice in notice.restore() }, equals: ["STATUS=0 sessions", "STATUS=0 sessions"])
  }

  @Test func `after the end nothing is told`() throws {
    let told = told
    expect(
      try lines { notice in
        told.status.sessions = 3
        notice.end()
        notice.update()
      }, equals: ["STATUS=0 sessions"])
  }
}
