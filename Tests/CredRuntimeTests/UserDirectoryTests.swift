import CredCore
import Testing

@testable import CredRuntime

struct UserDirectoryTests {
  /// What the directory says in the end, how often `then` was called, and whether it waited.
  private func ask(
    _ uid: UInt32, times: Int = 1
  ) throws -> (answer: UserDirectory.Answer?, calls: Int, first: UserDirectory.Answer?) {
    let thread = try LoopThread()
    return try thread.run { stage in
      let loop = stage.loop
      let directory = try UserDirectory(loop: loop)
      var calls = 0
      var first: UserDirectory.Answer?
      await withCheckedContinuation { continuation in
        for _ in 0..<times {
          first = directory.answer(to: .uid(uid), now: loop.now) {
            calls += 1
            if calls == times { continuation.resume() }
          }
        }
      }
      return (directory.answer(to: .uid(uid), now: loop.now, then: {}), calls, first)
    }
  }

  @Test func `root has its name, and it is known afterwards`() throws {
    let (answer, calls, first) = try ask(0)
    #expect(first == nil)
    #expect(answer == .user(.init(uid: 0, name: "root")))
    #expect(calls == 1)
  }

  @Test func `a uid that nobody has`() throws {
    #expect(try ask(3_999_999_999).answer == .nobody)
  }

  @Test func `everyone who asks meanwhile is called`() throws {
    #expect(try ask(0, times: 100).calls == 100)
  }

  @Test func `more than there are threads wait their turn`() throws {
    let thread = try LoopThread()
    let count = 20 * UserDirectory.lookupsAtOnce
    let answers = try thread.run { stage in
      let loop = stage.loop
      let directory = try UserDirectory(loop: loop)
      let uids = (0..<UInt32(count)).map { 3_000_000_000 + $0 }
      await withCheckedContinuation { continuation in
        var answered = 0
        for uid in uids {
          let first = directory.answer(to: .uid(uid), now: loop.now) {
            answered += 1
            if answered == count { continuation.resume() }
          }
          #expect(first == nil)
        }
      }
      return uids.map { directory.answer(to: .uid($0), now: loop.now, then: {}) }
    }
    #expect(answers.allSatisfy { $0 == .nobody })
  }

  @Test func `an old name is looked up anew, and serves until a minute is over`() throws {
    let thread = try LoopThread()
    let answers = try thread.run { stage in
      let loop = stage.loop
      let directory = try UserDirectory(loop: loop)
      let now = loop.now
      await withCheckedContinuation { continuation in
        _ = directory.answer(to: .uid(0), now: now) { continuation.resume() }
      }
      let known = loop.now
      let young = directory.answer(to: .uid(0), now: known + .seconds(44), then: {})
      let old = directory.answer(to: .uid(0), now: known + .seconds(59), then: {})
      let gone = directory.answer(to: .uid(0), now: known + .seconds(61), then: {})
      return (young, old, gone)
    }
    let root = UserDirectory.Answer.user(.init(uid: 0, name: "root"))
    #expect(answers == (root, root, nil))
  }
}
