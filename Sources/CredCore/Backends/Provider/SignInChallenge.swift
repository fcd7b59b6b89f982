/// A question of a sign-in to its user, as `login` and `respond` reply with it.
public struct SignInChallenge: Sendable, Equatable {
  /// Part of the wire protocol: see ``SignInStep/name``.
  public let step: SignInStep
  /// The provider's own name for the challenge; `DEVICE` and `CONFIRM` are credd's names.
  public let name: String

  public init(_ step: SignInStep, name: String) {
    self.step = step
    self.name = name
  }
}

/// The action that a client must take. If a client does not know a step, it shows the step and
/// cancels.
public enum SignInStep: Sendable, Equatable {
  /// Type a code that was sent to the user, or that an app shows.
  case code(PoolChallenge.Medium, destination: String?)
  /// Choose a new password, and give the required attributes that the provider does not have.
  case newPassword(required: [String], attributes: [NamedSecret])
  /// Choose one of these.
  case select([String])
  case password
  /// Put the secret into an authenticator app, and type the code that the app then shows.
  case totpSetup(secret: Secret, uri: Secret)
  /// Answer a custom question of the provider, with its public parameters.
  case custom([NamedSecret])
  /// Open a URL in a browser, and give the query with which the browser comes back to the redirect
  /// URI.
  ///
  /// - Parameter state: the value by which that query is recognised.
  case browser(url: Secret, redirectURI: String, state: Secret)
  /// Open a URL anywhere, type the code, and wait.
  case device(userCode: String, url: String, completeURL: String?, interval: Duration)
  /// Confirm that this is the person to sign in.
  ///
  /// - Parameters:
  ///   - replaces: the user whose sign-in ends.
  ///   - linksTo: the identity to which the person will belong from then on.
  case confirm(
    issuer: String, subject: String, username: String?, replaces: String?, linksTo: String?)

  /// Scripts depend on the spelling.
  public var name: String {
    switch self {
    case .code: "code"
    case .newPassword: "newPassword"
    case .select: "select"
    case .password: "password"
    case .totpSetup: "totpSetup"
    case .custom: "custom"
    case .browser: "browser"
    case .device: "device"
    case .confirm: "confirm"
    }
  }

  /// The names of the answers that `respond` must send.
  public var answers: [String] {
    switch self {
    case .code, .totpSetup: ["code"]
    case .newPassword, .password: ["password"]
    case .select: ["choice"]
    case .custom: ["answer"]
    case .browser: ["response"]
    case .device: []
    case .confirm: ["confirm"]
    }
  }

  /// The names of the answers that `respond` may send.
  public var optional: [String] {
    switch self {
    case .newPassword: ["attributes"]
    case .totpSetup: ["name"]
    case .code, .select, .password, .custom, .browser, .device, .confirm: []
    }
  }
}
