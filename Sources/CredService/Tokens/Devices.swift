import CredCore
import Logging

/// The secrets of devices that user pools remember, for all sessions of a uid. They outlive a
/// logout. A global logout, `clear identity` and another owner of the uid delete them.
final class Devices {
  private var byUID: [UInt32: RememberedDevices]
  private let host: Host
  private let sessions: SessionTable

  init(host: Host, sessions: SessionTable) {
    self.host = host
    self.sessions = sessions
    byUID = host.store?.loadDevices() ?? [:]
  }

  /// The devices of a uid; nil if it has none.
  subscript(_ uid: UInt32) -> RememberedDevices? { byUID[uid] }

  /// The device of a user in the pool of the session's profile, whether or not sign-ins use it; nil
  /// if none is known.
  func known(of session: Session, username: String) -> DeviceSecret? {
    deviceOwner(session, username).flatMap { byUID[session.key.uid]?.known(of: $0) }
  }

  /// Keeps the secret of a device that the pool has confirmed.
  ///
  /// - Parameter isUsed: whether sign-ins use the device. If not, it waits until the user wants it
  ///   remembered.
  func keep(
    _ device: DeviceSecret, of session: Session, username: String, isUsed: Bool = true
  ) {
    guard let owner = deviceOwner(session, username) else { return }
    changeDevices(of: session.key.uid) { $0.keep(device, of: owner, isUsed: isUsed) }
  }

  /// Notes whether the user wants the device remembered.
  func use(_ isUsed: Bool, of session: Session, username: String) {
    guard let owner = deviceOwner(session, username) else { return }
    changeDevices(of: session.key.uid) { $0.use(isUsed, of: owner) }
  }

  /// Tells the pool to forget the device that a new one replaces: otherwise each sign-in would add
  /// a device to the user's list. If a session still has tokens of the old device, it stays.
  func forgetFormer(of session: Session, _ signIn: AcceptedSignIn) {
    let uid = session.key.uid
    guard let former = known(of: session, username: signIn.username),
      let present = ProviderSession(signIn, keepsAccessToken: false)
    else { return }
    let isNeeded = sessions.sessions(of: uid).contains { other in
      other !== session && other.machine.providerSessions.contains { $0.deviceKey == former.key }
    }
    guard !isNeeded else { return }
    let call = AccountCall(
      id: sessions.nextCallID(), profile: session.profile.poolProfile ?? session.profile,
      user: UnixUser(uid: uid, name: session.userName), input: .own(.forgetDevice(former.key)),
      signedIn: AccountCall.SignedIn(
        session: present, accessToken: signIn.tokens.access.token, isHeld: false))
    let metadata: Logger.Metadata = ["profile": "\(session.key.profile)", "uid": "\(uid)"]
    host.upstream.account(call) { [log = host.log] result in
      guard case .failure(let failure) = result else { return }
      log.info(
        "the user pool keeps a former device of a user: \(failure.summary)", metadata: metadata)
    }
  }

  /// Drops a device that the pool has forgotten or must forget.
  func forget(of session: Session, username: String) {
    guard let owner = deviceOwner(session, username) else { return }
    changeDevices(of: session.key.uid) { $0.forget(owner) }
  }

  /// Drops all devices of a user.
  ///
  /// - Parameter username: the user who was signed in. If nil, every device at the pool of the
  ///   session's profile is forgotten.
  func forgetAll(of session: Session, username: String?) {
    if let username { return forget(of: session, username: username) }
    guard let issuer = session.profile.poolProfile?.plan.backend.issuer else { return }
    changeDevices(of: session.key.uid) { $0.forgetAll(of: issuer) }
  }

  /// The user who is or was signed in to the session's user pool; nil if there was none.
  func poolUser(of session: Session) -> String? {
    session.machine.providerSessions.first { $0.issuer.traits.remembersDevices }?.username
  }

  /// Keeps only the devices of this person, who now has the uid.
  func keep(of uid: UInt32, only person: SessionOwner) {
    changeDevices(of: uid) { $0.keepOnly(of: person) }
  }

  private func deviceOwner(_ session: Session, _ username: String) -> RememberedDevices.Owner? {
    session.profile.poolProfile?.plan.backend.issuer.map {
      RememberedDevices.Owner(person: session.owner, issuer: $0, username: username)
    }
  }

  private func changeDevices(of uid: UInt32, _ change: (inout RememberedDevices) -> Void) {
    let before = byUID[uid] ?? RememberedDevices()
    var after = before
    change(&after)
    guard after != before else { return }
    byUID[uid] = after.isEmpty ? nil : after
    host.store?.saveDevices(after, of: uid)
  }
}
