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

  /// A client that could cause any number of notes. In each period the first of its notes are written
  /// one by one, and the number of the others in one entry.
  enum Source: Sendable {
    /// Somebody with a token that is or was of an enrolled host.
    case host(String, at: String)
    /// Somebody who needs no token for this.
    case stranger(String)
    /// Who gets a token that is at hand: see ``AuditBounds``.
    case asker(String)
  }

  private let store: AuthStore
  private let chain: String
  private let now: @Sendable () -> Timestamp
  private let metrics: Metrics
  private let faults: DatabaseFaults
  private var refusals = AuditBounds(sources: Limits.auditSources.refused)
  /// Clients that are no hosts are counted here, so that they use up no place of a host.
  private var strangers = AuditBounds(sources: Limits.auditSources.refused)
  private var repeats = AuditBounds(sources: Limits.auditSources.reused)
  /// Entries with a number that could not be written yet.
  private var numbers: [AuditNote] = []
  private var waiting: [Waiting] = []
  private var isWriting = false
  /// The last commit failed.
  private var hasFailed = false
  /// The end of the chain after this program's last commit.
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

  /// - Parameter source: nil for what nobody can have written often.
  func write(
    _ notes: [AuditNote], identities: [IdentityRecord] = [], from source: Source? = nil
  ) async throws {
    var notes = notes
    // If the last commit failed, each note is written or its request fails. Otherwise a client could get
    // a token that the audit does not know of.
    if let source, !hasFailed {
      notes = notes.flatMap { admit($0, from: source) }
      guard !notes.isEmpty || !identities.isEmpty else { return }
    }
    try await withCheckedThrowingContinuation { continuation in
      waiting.append(Waiting(notes: notes, identities: identities, continuation: continuation))
      guard !isWriting else { return }
      isWriting = true
      Task(executorPreference: LoopExecutor.current) { await self.writeAll() }
    }
  }

  private func admit(_ note: AuditNote, from source: Source) -> [AuditNote] {
    switch source {
    case .host(let host, let place):
      refusals.admit(note, from: "\(host) \(place)", of: host)
    case .stranger(let place): strangers.admit(note, from: place)
    case .asker(let asker): repeats.admit(note, from: asker, isWhole: true)
    }
  }

  /// The audit lacks the notes of this commit. Once the database works again, the first notes of each
  /// source are written again.
  private func fail() {
    guard !hasFailed else { return }
    hasFailed = true
    refusals.startAgain()
    strangers.startAgain()
    repeats.startAgain()
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
      hasFailed = false
      for item in batch { item.continuation.resume() }
    } catch let error as StoreError where error.isPassing {
      fail()
      // Those behind would wait for the same answer.
      for item in batch + waiting { item.continuation.resume(throwing: error) }
      waiting = []
    } catch {
      guard batch.count > 1 else {
        fail()
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
