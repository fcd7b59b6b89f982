internal import CredCore
internal import CredService
internal import Logging

/// Sessions in the descriptor store, IdentityIds in the state directory. Either may be missing.
final class DurableSessions: SessionStoring {
  let store: SessionStore?
  let identities: IdentityFile?
  private var records: [SessionKey: SessionRecord]

  /// Nil where nothing would outlive this process.
  ///
  /// - Parameters:
  ///   - stores: passed by the service manager.
  ///   - identities: nil where there is no state directory.
  ///   - isWanted: whether a service manager would keep sessions.
  init?(
    _ stores: [PassedDescriptors.Named], identities: IdentityFile?, log: Logger,
    isWanted: Bool = ServiceNotification.isHeard
  ) {
    let opened = SessionStore.open(stores, log: log, isWanted: isWanted)
    store = opened.store
    records = opened.records
    self.identities = identities
    if store == nil, identities == nil, records.isEmpty { return nil }
  }

  func load() -> [SessionKey: SessionRecord] {
    defer { records = [:] }
    return records
  }

  func save(_ record: SessionRecord, for key: SessionKey) { store?.put(record, for: key) }

  /// The IdentityId stays known: a profile may come back.
  func remove(_ key: SessionKey) { store?.remove(key) }

  func identity(for key: SessionKey) -> KnownIdentity? { identities?.identity(key) }

  func setIdentity(_ identity: KnownIdentity?, for key: SessionKey) {
    identities?.record(identity, for: key)
  }

  var problem: String? { identities?.failure }
}
