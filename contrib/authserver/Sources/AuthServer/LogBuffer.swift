import Dispatch
public import FoundationEssentials
import Synchronization

/// Lines of the log on their way to a reader that may stand still. They wait here, and a thread of their
/// own writes them, so that no request waits for the log's reader. Those beyond the limit are dropped,
/// and counted.
public final class LogBuffer: Sendable {
  private struct State {
    var waiting = Data()
    var dropped = 0
    var isWriting = false
  }

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "credd-authserver.log")
  private let limit: Int
  private let note: @Sendable (_ dropped: Int) -> Data
  private let write: @Sendable (Data) -> Void

  /// - Parameters:
  ///   - limit: bytes that may wait, besides those that are being written.
  ///   - note: the line that stands for dropped ones.
  ///   - write: may block.
  public init(
    limit: Int, note: @escaping @Sendable (_ dropped: Int) -> Data,
    write: @escaping @Sendable (Data) -> Void
  ) {
    self.limit = limit
    self.note = note
    self.write = write
  }

  /// Takes a whole line.
  public func add(_ line: Data) {
    let startsWriter = state.withLock { state in
      guard state.waiting.count + line.count <= limit else {
        state.dropped += 1
        return false
      }
      state.waiting.append(line)
      defer { state.isWriting = true }
      return !state.isWriting
    }
    if startsWriter { queue.async { self.drain() } }
  }

  /// Waits until everything is written, so long at most.
  public func flush(within seconds: Double = 1) {
    let done = DispatchSemaphore(value: 0)
    queue.async { done.signal() }
    _ = done.wait(timeout: .now() + seconds)
  }

  private func drain() {
    while let lines = next() { write(lines) }
  }

  private func next() -> Data? {
    state.withLock { state in
      var lines = state.waiting
      if state.dropped > 0 { lines.append(note(state.dropped)) }
      state.waiting = Data()
      state.dropped = 0
      state.isWriting = !lines.isEmpty
      return lines.isEmpty ? nil : lines
    }
  }
}
