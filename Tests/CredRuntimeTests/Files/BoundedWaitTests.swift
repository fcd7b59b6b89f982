import CredCore
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CredRuntime

/// Work that hangs, and what comes after it.
struct BoundedWaitTests {
  /// Work that hangs until the test ends.
  private final class Hanging: Sendable {
    private let end = DispatchSemaphore(value: 0)
    private let begun = Atomic(0)

    var count: Int { begun.load(ordering: .relaxed) }

    func work() {
      begun.add(1, ordering: .relaxed)
      end.wait()
      end.signal()
    }

    func letGo() { end.signal() }
  }

  @Test func `after the time for all is used up hanging work is not begun any more`() {
    let hanging = Hanging()
    defer { hanging.letGo() }
    var waits = BoundedWait(
      longest: .milliseconds(100), together: .milliseconds(200), reserve: .milliseconds(100))
    for _ in 0..<1000 { expect(waits.wait { hanging.work() } == nil) }
    expect(waits.isOver)
    // Two or three for each of the two times: each is waited for, however late its thread begins.
    expect(eventually { hanging.count > 0 })
    expect(hanging.count <= 6, "\(hanging.count)")
    expect(waits.wait { 1 } == nil)
  }

  @Test func `what does not hang is done while there is a reserve`() {
    let hanging = Hanging()
    defer { hanging.letGo() }
    var waits = BoundedWait(
      longest: .milliseconds(125), together: .milliseconds(125), reserve: HangLimit.duration,
      afterwards: HangLimit.duration)
    expect(waits.wait { hanging.work() } == nil)
    expect(waits.wait { 1 }, equals: 1)
    expect(!waits.isOver)
  }
}
