internal import CredCore
internal import CredService
internal import Logging

/// Sessions in the descriptor store, IdentityIds in the state directory. Either may be missing.
final class DurableSessions: SessionStoring {
  let store: SessionStore?
  let identities: IdentityFile?
  private var records: [SessionKey: SessionRecord]
  private var devices: [UInt32: RememberedDevices]

  /// Returns nil if nothing would outlive this process.
  ///
  /// - Parameters:
  ///   - stores: the stores that the service manager passed.
  ///   - identities: nil if there is no state directory.
  ///   - isWanted: whether a service manager would keep sessions.
  init?(
    _ stores: [PassedDescriptors.Named], identities: IdentityFile?, log: Logger,
    isWanted: Bool = ServiceNotification.isHeard
  ) {
    let opened = SessionStore.open(stores, log: log, isWanted: isWanted)
    store = opened.store
    records = opened.records
    devices = opened.devices
    self.identities = identities
    if store == nil, identities == nil, records.isEmpty, devices.isEmpty { return nil }
  }

  func load() -> [SessionKey: SessionRecord] {
    defer { records = [:] }
    return records
  }

  func save(_ record: SessionRecord, for key: SessionKey) { store?.put(record, for: key) }

  /// The IdentityId stays known, because a profile may come back.
  func remove(_ key: SessionKey) { store?.remove(key) }

  func loadDevices() -> [UInt32: RememberedDevices] {
    defer { devices = [:] }
    return devices
  }

  func saveDevices(_ devices: RememberedDevices, of uid: UInt32) {
    store?.put(devices, of: uid)
  }

  func identity(for key: SessionKey) -> KnownIdentity? { identities?.identity(key) }

  func setIdentity(_ identity: KnownIdentity?, for key: SessionKey) {
    identities?.record(identity, for: key)
  }

  var problem: String? { identities?.failure }
}
