import CredCore
import CredService

/// What outlives a service, in memory: the next service on the same store finds it.
final class MemoryStore: SessionStoring {
  var records: [SessionKey: SessionRecord] = [:]
  private(set) var identities: [SessionKey: KnownIdentity] = [:]
  var problem: String?
  private let trace: Trace

  init(_ trace: Trace) {
    self.trace = trace
  }

  func load() -> [SessionKey: SessionRecord] { records }

  func save(_ record: SessionRecord, for key: SessionKey) {
    trace.add("save \(key.profile)")
    records[key] = record
  }

  func remove(_ key: SessionKey) {
    trace.add("remove \(key.profile)")
    records[key] = nil
  }

  /// As bytes, as in the descriptor store.
  private(set) var devices: [UInt32: [UInt8]] = [:]

  func loadDevices() -> [UInt32: RememberedDevices] {
    devices.compactMapValues { (try? RememberedDevices.read($0[...]))?.devices }
  }

  func saveDevices(_ devices: RememberedDevices, of uid: UInt32) {
    self.devices[uid] = devices.isEmpty ? nil : devices.encoded(of: uid)
  }

  func identity(for key: SessionKey) -> KnownIdentity? {
    trace.add("identity of \(key.profile)")
    return identities[key]
  }

  func setIdentity(_ identity: KnownIdentity?, for key: SessionKey) { identities[key] = identity }
}
