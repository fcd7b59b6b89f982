/// Whether settings are the same as before a restart: 64 bits that differ when they do (FNV-1a).
///
/// Not against an adversary: who writes the configuration rules over the sessions anyway.
public struct Fingerprint: Sendable, Hashable {
  public private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  init() {}

  init(value: UInt64) {
    self.value = value
  }

  /// A text with its length, so that no two lists of texts look the same; nil is not the empty one.
  mutating func add(_ text: String?) {
    add(byte: text == nil ? 0 : 1)
    guard let text else { return }
    let count = UInt64(text.utf8.count)
    for shift in stride(from: 0, to: 64 as UInt64, by: 8) {
      add(byte: UInt8(truncatingIfNeeded: count >> shift))
    }
    for byte in text.utf8 { add(byte: byte) }
  }

  mutating func add(_ flag: Bool) { add(byte: flag ? 3 : 2) }

  private mutating func add(byte: UInt8) {
    value = (value ^ UInt64(byte)) &* 0x100_0000_01B3
  }
}

extension Fingerprint {
  /// Of all that decides which identity a user has, and who vouches for them.
  init(identityOf settings: ProfileSettings, _ backend: BackendSettings?, _ plan: SessionPlan) {
    self.init()
    add(settings.identityPoolID)
    add(settings.developerProvider)
    add(settings.userIdentifier.text)
    add(backend?.name)
    add(backend?.type.rawValue)
    add("\(plan.backend)")
    add(plan.allowsGuests)
    add(plan.tokenFileProvider)
    add(settings.webIdentityTokenFile)
  }

  /// Of that, and all that decides which credentials an identity gets. Where they are fetched is
  /// for the next call to know.
  init(credentialsOf settings: ProfileSettings, of identity: Fingerprint) {
    self = identity
    add(settings.flow.rawValue)
    add(settings.roleARN)
    add(settings.roleSessionName.text)
    add("\(settings.duration.wholeNanoseconds)")
    add(settings.policyFile)
    for policy in settings.policyARNs { add(policy) }
  }
}
