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
    // Two or three for each of the two times.
    expect((1...6).contains(hanging.count), "\(hanging.count)")
    expect(waits.wait { 1 } == nil)
  }

  @Test func `what does not hang is done while there is a reserve`() {
    let hanging = Hanging()
    defer { hanging.letGo() }
    var waits = BoundedWait(
      longest: .milliseconds(50), together: .milliseconds(50), reserve: .seconds(60))
    expect(waits.wait { hanging.work() } == nil)
    expect(waits.wait { hanging.work() } == nil)
    expect(!waits.isOver)
    // One of them may be late on a busy machine.
    expect((0..<20).contains { _ in waits.wait { 1 } == 1 })
  }
}
