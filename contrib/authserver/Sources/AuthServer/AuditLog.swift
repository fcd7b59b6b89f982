import AuthCore
import AuthStore

/// Writes to the audit. What waits is written together, so that many callbacks at once cost one
/// commit; each goes on when its own entry is on disk.
public actor AuditLog {
  private struct Waiting {
    let notes: [AuditNote]
    let identities: [IdentityRecord]
    let continuation: CheckedContinuation<Void, any Error>
  }

  private let store: AuthStore
  private let chain: String
  private let now: @Sendable () -> Timestamp
  private let metrics: Metrics
  private let faults: DatabaseFaults
  private var refusals = AuditBounds(sources: Limits.auditSources.refused)
  /// By whoever has nothing of ours: they fill no place of the others'.
  private var strangers = AuditBounds(sources: Limits.auditSources.refused)
  private var repeats = AuditBounds(sources: Limits.auditSources.reused)
  /// Entries with a number that could not be written yet.
  private var numbers: [AuditNote] = []
  private var waiting: [Waiting] = []
  private var isWriting = false
  /// Of the chain, when this wrote to it last.
  private var end: AuditHead?
  /// Enough for every callback that waits, so that one commit takes them all.
  private static let atOnce = 512

  init(
    store: AuthStore, chain: String, metrics: Metrics, faults: DatabaseFaults,
    now: @escaping @Sendable () -> Timestamp
  ) {
    self.store = store
    self.faults = faults
    self.chain = chain
    self.metrics = metrics
    self.now = now
  }

  /// For what the store writes with an entry, in one transaction.
  nonisolated func trail(_ event: String, _ members: [String: String]) -> AuditTrail {
    AuditTrail(chain: chain, AuditNote(event, members, at: now()))
  }

  /// - Parameters:
  ///   - source: who could have such notes written as often as they like. Of these the first of a while
  ///     are written, and then their number.
  ///   - isStranger: the source has no token, and needs none for this.
  ///   - isWhole: see ``AuditBounds``.
  func write(
    _ notes: [AuditNote], identities: [IdentityRecord] = [], from source: String? = nil,
    isStranger: Bool = false, isWhole: Bool = false
  ) async throws {
    var notes = notes
    if let source {
      notes = notes.flatMap { note in
        if isWhole { return repeats.admit(note, from: source, isWhole: true) }
        return isStranger
          ? strangers.admit(note, from: source) : refusals.admit(note, from: source)
      }
      guard !notes.isEmpty || !identities.isEmpty else { return }
    }
    try await withCheckedThrowingContinuation { continuation in
      waiting.append(Waiting(notes: notes, identities: identities, continuation: continuation))
      guard !isWriting else { return }
      isWriting = true
      Task(executorPreference: LoopExecutor.current) { await self.writeAll() }
    }
  }

  /// Writes the numbers of what was not written one by one.
  ///
  /// - Parameter all: also of the time that is not over yet: the server stops.
  func writeNumbers(all: Bool = false) async {
    numbers +=
      refusals.end(at: now(), all: all) + strangers.end(at: now(), all: all)
      + repeats.end(at: now(), all: all)
    guard !numbers.isEmpty else { return }
    let due = numbers
    numbers = []
    do { try await write(due) } catch {
      faults.note(error)
      numbers = due + numbers
    }
  }

  private func writeAll() async {
    while !waiting.isEmpty {
      let batch = Array(waiting.prefix(Self.atOnce))
      waiting.removeFirst(batch.count)
      await write(batch)
    }
    isWriting = false
  }

  private func write(_ batch: [Waiting]) async {
    do {
      let notes = batch.flatMap(\.notes)
      end = try await store.commit(
        Self.latest(batch.flatMap(\.identities)), notes: notes, chain: chain, after: end, now: now()
      )
      metrics.count(.auditEntries, by: notes.count)
      faults.end()
      for item in batch { item.continuation.resume() }
    } catch let error as StoreError where error.isPassing {
      // Those behind would wait for the same answer.
      for item in batch + waiting { item.continuation.resume(throwing: error) }
      waiting = []
    } catch {
      guard batch.count > 1 else {
        for item in batch { item.continuation.resume(throwing: error) }
        return
      }
      // What cannot be written is one host's, and does not keep the others' out.
      for item in batch { await write([item]) }
    }
  }

  /// One record for each user and pool: a statement changes a row once.
  private static func latest(_ records: [IdentityRecord]) -> [IdentityRecord] {
    var latest: [String: IdentityRecord] = [:]
    for record in records { latest[record.pool + " " + record.user.text] = record }
    return Array(latest.values)
  }
}
