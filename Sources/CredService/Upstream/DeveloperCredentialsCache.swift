import CredCore

/// The developer credentials of `credential_process`, treated like those of a session: one run of a
/// command at a time, renewed before they expire, dropped if AWS refuses them.
///
/// They belong to the backend and the command that made them. A call from before a reload may still
/// run the former command, but a call of the new configuration never gets that result.
final class DeveloperCredentialsCache {
  struct Key: Hashable {
    let backend: String
    let command: [String]
  }

  /// The keys that sign a call, and whether credd held them before the call: then a refusal may
  /// only mean that they are out of date.
  struct Signer {
    let signer: SigV4
    let isKept: Bool
  }

  /// The pause after an early renewal failed. The held credentials are used meanwhile.
  static let pause: Duration = .seconds(30)

  private struct Kept {
    let credentials: DeveloperCredentials
    /// From this time on the next call renews the credentials, and is still signed with the held
    /// ones.
    let renewedFrom: Instant
    let usableUntil: Instant
  }

  /// The credentials and the run of one key. A run refers to its entry: if a reload makes the run
  /// out of date, it answers its own calls and no others.
  private final class Entry {
    var kept: Kept?
    var isRunning = false
    var notBefore = Instant(nanoseconds: .min)
    var waiting: [Completion<Signer>] = []
  }

  private let clock: any Clock
  private let commands: any CommandRunning
  private var random: any RandomNumberGenerator
  private var entries: [Key: Entry] = [:]

  init(_ services: UpstreamServices, random: any RandomNumberGenerator) {
    clock = services.clock
    commands = services.commands
    self.random = random
  }

  /// How many keys have credentials or a run.
  var count: Int { entries.count }

  /// Drops everything. Runs under way answer the calls that wait for them.
  func removeAll() { entries = [:] }

  /// Gives the signer at once if there is one, else after the run under way, or after a new run.
  ///
  /// - Parameter timeout: the timeout of a run that starts.
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

  /// Drops credentials that AWS refused, unless others have already replaced them.
  func refused(_ signer: SigV4, for key: Key) {
    guard let entry = entries[key], entry.kept?.credentials.signer == signer else { return }
    entry.kept = nil
  }

  private func start(_ key: Key, _ entry: Entry, _ timeout: Duration) {
    guard !entry.isRunning else { return }
    entry.isRunning = true
    let command = Command(
      key.command, environment: Command.environment([:]), input: Secret([]), timeout: timeout)
    commands.run(command) { [weak self] output in
      self?.finish(key, entry, Result { () throws(UpstreamFailure) in try key.read(output) })
    }
  }

  private func finish(
    _ key: Key, _ entry: Entry, _ result: Result<DeveloperCredentials, UpstreamFailure>
  ) {
    entry.isRunning = false
    switch result {
    case .success(let fresh): entry.kept = kept(fresh)
    case .failure:
      entry.notBefore = clock.now + Self.pause
      // If the entry has no credentials, it goes, and the next call runs the command again.
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

extension DeveloperCredentialsCache.Key {
  /// Reads what the command prints.
  fileprivate func read(_ output: ExecOutcome) throws(UpstreamFailure) -> DeveloperCredentials {
    let upstream = Upstream.backend(backend)
    guard case .exited(0) = output.ending else { throw .exec(output, from: upstream) }
    do throws(InvalidInput) {
      return try DeveloperCredentials(processOutput: output.standardOutput)
    } catch {
      throw .notSent(error, to: upstream)
    }
  }
}
