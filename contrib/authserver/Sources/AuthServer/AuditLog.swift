public import AuthCore
public import AuthStore
import Logging

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
  private var waiting: [Waiting] = []
  private var isWriting = false
  /// Enough for every callback that waits, so that one commit takes them all.
  private static let atOnce = 512

  public init(
    store: AuthStore, chain: String, metrics: Metrics, now: @escaping @Sendable () -> Timestamp
  ) {
    self.store = store
    self.chain = chain
    self.metrics = metrics
    self.now = now
  }

  /// For what the store writes with an entry, in one transaction.
  nonisolated func trail(_ event: String, _ members: [String: String]) -> AuditTrail {
    AuditTrail(chain: chain, AuditNote(event, members, at: now()))
  }

  public func write(
    _ notes: [AuditNote], identities: [IdentityRecord] = []
  ) async throws {
    try await withCheckedThrowingContinuation { continuation in
      waiting.append(Waiting(notes: notes, identities: identities, continuation: continuation))
      guard !isWriting else { return }
      isWriting = true
      Task { await writeAll() }
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
      try await store.commit(
        Self.latest(batch.flatMap(\.identities)), notes: notes, chain: chain, now: now())
      metrics.count("credd_authserver_audit_entries_total", by: notes.count)
      for item in batch { item.continuation.resume() }
    } catch StoreError.unavailable(let reason) {
      // Those behind would wait for the same answer.
      for item in batch + waiting {
        item.continuation.resume(throwing: StoreError.unavailable(reason))
      }
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
