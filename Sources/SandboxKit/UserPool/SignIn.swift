import FoundationEssentials
import SeededRandom

/// A sign-in under way: its user, its client, and the step for which it waits.
struct SignIn: Sendable {
  enum Step: Sendable {
    case proof(SRPExchange)
    case newPassword
    /// A code that was sent, as the second factor or as the only one.
    case code(OneTimeCode, isFirst: Bool)
    case softwareToken
    case selectFactor([Factor])
    case setup([Factor], secret: [UInt8]?, isProven: Bool)
    case selectChallenge([String])
    case password, passwordProof
    case custom(round: Int)
    case device
    case deviceProof(SRPExchange)
    /// The Session from SignUp and ConfirmSignUp, with which a sign-in can go on.
    case signedUp, confirmed
  }

  let client: String
  /// The user's name, or an invented one for an unknown user.
  let username: String
  /// The name as the person typed it.
  let typed: String
  var exists = true
  let isCustom: Bool
  var step: Step
  var deviceKey: String?
  /// When the sign-in began: `auth_time`.
  let began: Date
  var hasCustomPassed = false
  var hasFactorPassed = false
  var hasDevicePassed = false
  var misses = 0
  var customMisses = 0

  /// The wire name of the step's challenge.
  var challenge: String {
    switch step {
    case .proof: "PASSWORD_VERIFIER"
    case .newPassword: "NEW_PASSWORD_REQUIRED"
    case .code(let code, let isFirst):
      code.attribute == "email" ? "EMAIL_OTP" : isFirst ? "SMS_OTP" : "SMS_MFA"
    case .softwareToken: "SOFTWARE_TOKEN_MFA"
    case .selectFactor: "SELECT_MFA_TYPE"
    case .setup: "MFA_SETUP"
    case .selectChallenge: "SELECT_CHALLENGE"
    case .password: "PASSWORD"
    case .passwordProof: "PASSWORD_SRP"
    case .custom: "CUSTOM_CHALLENGE"
    case .device: "DEVICE_SRP_AUTH"
    case .deviceProof: "DEVICE_PASSWORD_VERIFIER"
    case .signedUp, .confirmed: ""
    }
  }
}

/// The sign-ins under way, by the handle that the client got.
///
/// A handle is valid once, for a limited time, for one client. Used and old handles are remembered
/// for a while, so that the error can say so.
struct SignInTable: Sendable {
  static let maximumSignIns = 8192
  /// As long as the service model allows.
  private static let handleLength = 4096
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  private struct Entry {
    var signIn: SignIn
    var expiration: Date
    var isUsed = false
  }

  private var entries: [String: Entry] = [:]
  private var order: [String] = []

  /// - Parameter handle: the handle; nil to draw one.
  mutating func open(
    _ signIn: SignIn, as handle: String? = nil, until expiration: Date,
    random: inout SeededGenerator
  ) -> String {
    if order.count >= SignInTable.maximumSignIns {
      let old = order.prefix(SignInTable.maximumSignIns / 4)
      for handle in old { entries[handle] = nil }
      order.removeFirst(old.count)
    }
    let handle =
      handle ?? "AYABe" + random.text(SignInTable.handleLength - 5, of: SignInTable.alphabet)
    entries[handle] = Entry(signIn: signIn, expiration: expiration)
    order.append(handle)
    return handle
  }

  /// The sign-in under a handle.
  func signIn(_ handle: String, client: String, at now: Date) throws(ServiceError) -> SignIn {
    guard let entry = entries[handle], entry.signIn.client == client else { throw .foreignSession }
    guard !entry.isUsed else { throw .usedSession }
    guard now < entry.expiration else { throw .expiredSession }
    return entry.signIn
  }

  /// The client to which a handle was given, used or not.
  func client(of handle: String) -> String? { entries[handle]?.signIn.client }

  mutating func use(_ handle: String) { entries[handle]?.isUsed = true }

  /// Keeps the handle and changes its sign-in.
  mutating func update(_ handle: String, _ signIn: SignIn) { entries[handle]?.signIn = signIn }

  mutating func end(of username: String) {
    for (handle, entry) in entries where entry.signIn.username == username {
      entries[handle]?.isUsed = true
    }
  }
}
