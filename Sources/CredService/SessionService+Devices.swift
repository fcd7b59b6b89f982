import CredCore

/// The secrets of devices that user pools remember, for all sessions of a uid. They outlive a logout;
/// a global one, `clear identity` and another owner of the uid end them.
extension SessionService {
  /// The device of a user in the pool of the session's profile; nil if none is known.
  func rememberedDevice(of session: Session, username: String) -> DeviceSecret? {
    deviceOwner(session, username).flatMap { devices[session.key.uid]?[$0] }
  }

  /// Keeps the secret of a device that the pool has confirmed.
  func keepDevice(_ device: DeviceSecret, of session: Session, username: String) {
    guard let owner = deviceOwner(session, username) else { return }
    changeDevices(of: session.key.uid) { $0.keep(device, of: owner) }
  }

  /// The pool has forgotten the device, or is to forget it.
  func forgetDevice(of session: Session, username: String) {
    guard let owner = deviceOwner(session, username) else { return }
    changeDevices(of: session.key.uid) { $0.forget(owner) }
  }

  /// Nothing of the user stays here: every device at the pool of the session's profile is forgotten.
  func forgetDevices(of session: Session) {
    guard let issuer = session.profile.plan.backend.issuer else { return }
    changeDevices(of: session.key.uid) { $0.forgetAll(of: issuer) }
  }

  /// The uid belongs to this person now.
  func keepDevices(of uid: UInt32, only person: SessionOwner) {
    changeDevices(of: uid) { $0.keepOnly(of: person) }
  }

  func restoreDevices() {
    devices = host.store?.loadDevices() ?? [:]
  }

  private func deviceOwner(_ session: Session, _ username: String) -> RememberedDevices.Owner? {
    session.profile.plan.backend.issuer.map {
      RememberedDevices.Owner(person: session.owner, issuer: $0, username: username)
    }
  }

  private func changeDevices(of uid: UInt32, _ change: (inout RememberedDevices) -> Void) {
    let before = devices[uid] ?? RememberedDevices()
    var after = before
    change(&after)
    guard after != before else { return }
    devices[uid] = after.isEmpty ? nil : after
    host.store?.saveDevices(after, of: uid)
  }
}
