/// An action on an account, with its values.
public enum AccountInput: Sendable, Equatable {
  // Actions before a sign-in.
  case signUp(SignUp)
  case confirm(username: String, code: Secret)
  case resend(username: String)
  case forgotPassword(username: String)
  case resetPassword(username: String, code: Secret, password: Secret)
  /// An action of the signed-in user.
  case own(OwnAccountInput)

  public var action: AccountAction {
    switch self {
    case .signUp: .signUp
    case .confirm: .confirm
    case .resend: .resend
    case .forgotPassword: .forgotPassword
    case .resetPassword: .resetPassword
    case .own(let input): input.action
    }
  }

  /// The user whom the action names; nil if it is about the signed-in user.
  public var username: String? {
    switch self {
    case .signUp(let signUp): signUp.username
    case .confirm(let name, _), .resend(let name), .forgotPassword(let name),
      .resetPassword(let name, _, _):
      name
    case .own: nil
    }
  }

  /// Secrets that messages must not repeat.
  public var secrets: [Secret] {
    switch self {
    case .signUp(let signUp): signUp.secrets
    case .confirm(_, let code): UserPoolInput.forms(of: code)
    case .resend, .forgotPassword: []
    case .resetPassword(_, let code, let password): UserPoolInput.forms(of: code) + [password]
    case .own(let input): input.secrets
    }
  }
}

/// An action of the signed-in user on their own account.
public enum OwnAccountInput: Sendable, Equatable {
  case get
  case changePassword(from: Secret, to: Secret)
  case setAttributes([NamedSecret])
  /// Without a code, the pool sends one.
  case verifyAttribute(String, code: Secret?)
  case deleteAttributes([String])
  case mfa(MFAChoice)
  /// Without a code, the app gets a new secret.
  case totp(code: Secret?, name: String?)
  /// - Parameter after: where the page begins.
  case devices(after: String?)
  /// Without a device, the device of this host is meant.
  case rememberDevice(String?, Bool)
  case forgetDevice(String?)
  /// - Parameter after: where the page begins.
  case sessions(after: String?)
  /// Ends another session of the user.
  case endSession(TrackedSessionID)
  case delete

  public var action: AccountAction {
    switch self {
    case .get: .get
    case .changePassword: .changePassword
    case .setAttributes: .setAttributes
    case .verifyAttribute: .verifyAttribute
    case .deleteAttributes: .deleteAttributes
    case .mfa: .mfa
    case .totp: .totp
    case .devices: .devices
    case .rememberDevice: .rememberDevice
    case .forgetDevice: .forgetDevice
    case .sessions: .sessions
    case .endSession: .endSession
    case .delete: .delete
    }
  }

  fileprivate var secrets: [Secret] {
    switch self {
    case .changePassword(let old, let new): [old, new]
    case .setAttributes(let attributes): attributes.map(\.value)
    case .verifyAttribute(_, let code), .totp(let code, _):
      code.map(UserPoolInput.forms) ?? []
    case .get, .deleteAttributes, .mfa, .devices, .rememberDevice, .forgetDevice, .sessions,
      .endSession, .delete:
      []
    }
  }
}

/// The second factors that a user chooses.
public struct MFAChoice: Sendable, Equatable {
  /// All factors that are on from now on; if nil, they stay unchanged.
  public let enabled: [MFAFactor]?
  /// The factor that the pool asks for first; `.some(nil)`: none.
  public let preferred: MFAFactor??

  public init(enabled: [MFAFactor]?, preferred: MFAFactor??) {
    self.enabled = enabled
    self.preferred = preferred
  }

  /// The changes to make; nil if there are none.
  ///
  /// - Parameter present: the factors that are on now, by the pool's own names.
  public func change(from present: PoolUser) throws(InvalidInput) -> MFAPreference? {
    let before = Set(present.enabledMFA.compactMap { MFAFactor(rawValue: $0) })
    let former = present.preferredMFA.flatMap { MFAFactor(rawValue: $0) }
    var after = enabled.map { Set($0) } ?? before
    if case .some(.some(let factor)) = preferred { after.insert(factor) }
    let first = preferred ?? former.flatMap { after.contains($0) ? $0 : nil }
    // If a factor is sent without the word "preferred", it is not preferred any more.
    var settings: [MFAFactor: Bool] = [:]
    for factor in MFAFactor.allCases {
      let isOn = after.contains(factor)
      let isPreferred = factor == first
      if isOn != before.contains(factor) || isPreferred != (factor == former) {
        settings[factor] = isOn
      }
    }
    guard !settings.isEmpty else { return nil }
    return try MFAPreference(
      enabled: settings, preferred: first.flatMap { settings[$0] == true ? $0 : nil })
  }
}
