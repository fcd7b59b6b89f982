/// The values of `action`.
public enum AccountAction: String, Sendable, CaseIterable {
  case signUp = "sign-up"
  case confirm
  case resend
  case forgotPassword = "forgot-password"
  case resetPassword = "reset-password"
  case get
  case changePassword = "change-password"
  case setAttributes = "set-attributes"
  case verifyAttribute = "verify-attribute"
  case deleteAttributes = "delete-attributes"
  case mfa
  case totp
  case devices
  case rememberDevice = "remember-device"
  case forgetDevice = "forget-device"
  case sessions
  case endSession = "end-session"
  case delete

  /// Whether the action is about the account of the signed-in user.
  public var isOwn: Bool {
    switch self {
    case .signUp, .confirm, .resend, .forgotPassword, .resetPassword: false
    case .get, .changePassword, .setAttributes, .verifyAttribute, .deleteAttributes, .mfa, .totp,
      .devices, .rememberDevice, .forgetDevice, .sessions, .endSession, .delete:
      true
    }
  }

  /// Whether the action requires a recent sign-in, so that a program of the user cannot take over
  /// the account with an old session.
  public var needsRecentSignIn: Bool {
    switch self {
    case .mfa, .totp, .delete, .setAttributes, .deleteAttributes, .endSession: true
    case .signUp, .confirm, .resend, .forgotPassword, .resetPassword, .get, .changePassword,
      .verifyAttribute, .devices, .rememberDevice, .forgetDevice, .sessions:
      false
    }
  }
}
