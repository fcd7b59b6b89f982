import CredCore

/// The developer credentials of `credential_process`, treated as a session's are: one run of a
/// command at a time, renewed ahead of their end, dropped where AWS refuses them.
///
/// They belong to the backend and the command that made them. A call that began before a reload may
/// still run the former command, and a call of the new configuration never gets its result.
final class DeveloperCredentialsCache {
  struct Key: Hashable {
    let backend: String
    let command: [String]
  }

  /// What signs a call, and whether it was there before the call: a refusal may then say no more
  /// than that it is out of date.
  struct Signer {
    let signer: SigV4
    let isKept: Bool
  }

  /// Runs a key's command and reads what it prints.
  typealias Run = (
    Key, _ timeout: Duration, @escaping Completion<DeveloperCredentials>
  )
    -> Void

  /// The pause after an early renewal failed. The held credentials are used meanwhile.
  static let pause: Duration = .seconds(30)

  private struct Kept {
    let credentials: DeveloperCredentials
    /// From now on the next call renews them, and is signed with them all the same.
    let renewedFrom: Instant
    let usableUntil: Instant
  }

  /// Of one key. A run holds it, so that a run that a reload made out of date answers its own calls
  /// and no others.
  private final class Entry {
    var kept: Kept?
    var isRunning = false
    var notBefore = Instant(nanoseconds: .min)
    var waiting: [Completion<Signer>] = []
  }

  private let clock: any Clock
  private let run: Run
  private var random: any RandomNumberGenerator
  private var entries: [Key: Entry] = [:]

  init(clock: any Clock, random: any RandomNumberGenerator, run: @escaping Run) {
    self.clock = clock
    self.random = random
    self.run = run
  }

  /// The number of keys with credentials or a run.
  var count: Int { entries.count }

  /// Drops everything. Runs under way answer the calls that wait for them.
  func removeAll() { entries = [:] }

  /// Gives the signer at once if there is one, else after the run under way or a new one.
  ///
  /// - Parameter timeout: of a run that starts.
  func signer(
    for key: Key, timeout: Duration, _ done: @escaping Completion<Signer>
  ) {
    let entry = entries[key] ?? Entry()
    entries[key] = entry
    let now = clock.now
    if let kept = entry.kept, now < kept.usableUntil {
      if now >= kept.renewedFrom, now >= entry.notBefore { start(key, entry, timeout) }
      return done(.success(Signer(signer: kept.credentials.signer, isKept: true)))
    }
    entry.kept = nil
    entry.waiting.append(done)
    start(key, entry, timeout)
  }

  /// Drops credentials that AWS refused, unless others have taken their place.
  func refused(_ signer: SigV4, for key: Key) {
    guard let entry = entries[key], entry.kept?.credentials.signer == signer else { return }
    entry.kept = nil
  }

  private func start(_ key: Key, _ entry: Entry, _ timeout: Duration) {
    guard !entry.isRunning else { return }
    entry.isRunning = true
    run(key, timeout) { [weak self] result in self?.finish(key, entry, result) }
  }

  private func finish(
    _ key: Key, _ entry: Entry, _ result: Result<DeveloperCredentials, UpstreamFailure>
  ) {
    entry.isRunning = false
    switch result {
    case .success(let fresh): entry.kept = kept(fresh)
    case .failure:
      entry.notBefore = clock.now + Self.pause
      // Nothing is kept: the next call runs the command again.
      if entry.kept == nil, entries[key] === entry { entries[key] = nil }
    }
    let waiting = entry.waiting
    entry.waiting = []
    for done in waiting { done(result.map { Signer(signer: $0.signer, isKept: false) }) }
  }

  private func kept(_ credentials: DeveloperCredentials) -> Kept {
    guard let expiration = credentials.expiration else {
      return Kept(
        credentials: credentials, renewedFrom: .distantFuture, usableUntil: .distantFuture)
    }
    let (now, lifetime) = (clock.now, max(expiration - clock.wallTime, .zero))
    return Kept(
      credentials: credentials,
      renewedFrom: RefreshPolicy.refreshTime(
        received: now, lifetime: lifetime, jitter: .random(in: 0..<1, using: &random)),
      usableUntil: RefreshPolicy.servableUntil(expires: now + lifetime, lifetime: lifetime))
  }
}
