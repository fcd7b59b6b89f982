public import CredCore

/// The question of a sign-in to its user, from the reply to `login` or `respond`.
public struct Challenge: Sendable, Equatable {
  /// The handle by which `respond` names the challenge. It is no secret from the user: it belongs
  /// to the uid.
  public let handle: String
  public let step: Step
  /// The provider's name for the challenge.
  public let name: String
  /// Seconds until the challenge ends.
  public let expiresIn: Int
  let parameters: JSONValue
  /// Whether a guest's session would be the user's.
  let isOfGuest: Bool

  /// The action that a person must take.
  public enum Step: Sendable, Equatable {
    case code
    /// With the attributes that must be given.
    case newPassword(required: [String])
    case select([String])
    case password
    case totpSetup
    case custom
    /// Sign in with a browser.
    case browser(BrowserStep)
    /// Sign in on another device.
    case device(DeviceStep)
    /// Confirm that the right user has signed in.
    case confirm
    /// A step of a newer daemon.
    case unknown(String)

    public var isBrowser: Bool {
      if case .browser = self { true } else { false }
    }
  }

  /// The longest time to wait for an answer, even if the daemon gives more.
  private static let longest = 30 * 60

  /// - Parameter reply: a reply that was checked against ``ReplyShape/session``.
  /// - Returns: nil if the reply has no challenge.
  /// - Throws: a ``Failure`` if the challenge cannot be answered.
  public init?(_ reply: JSONValue) throws(Failure) {
    guard let challenge = reply["Challenge"] else { return nil }
    guard let handle = challenge["Handle"]?.text, Self.isHandle(handle),
      let step = challenge["Step"]?.text
    else {
      throw Failure(
        .unavailable, "the reply is not one of credd's, its Challenge has no handle or step")
    }
    self.handle = handle
    name = challenge["Name"]?.text ?? step
    parameters = challenge["Parameters"] ?? .null
    isOfGuest = reply["State"]?.text == "guest"
    expiresIn = min(Int(clamping: challenge["ExpiresIn"]?.integer ?? 180), Self.longest)
    self.step = try Self.step(step, parameters)
  }

  private static func step(_ name: String, _ parameters: JSONValue) throws(Failure) -> Step {
    switch name {
    case "browser": .browser(try BrowserStep(parameters))
    case "device": .device(try DeviceStep(parameters))
    case "confirm": .confirm
    case "code": .code
    case "newPassword": .newPassword(required: texts(parameters["Required"]))
    case "select": .select(texts(parameters["Choices"]))
    case "password": .password
    case "totpSetup": .totpSetup
    case "custom": .custom
    default: .unknown(name)
    }
  }

  /// Checks a handle, because it becomes part of a command that a person may copy into a shell.
  private static func isHandle(_ text: String) -> Bool {
    (1...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") }
  }

  private static func texts(_ value: JSONValue?) -> [String] {
    guard case .array(let elements) = value else { return [] }
    return elements.compactMap(\.text)
  }
}

extension Challenge {
  /// The failure of a sign-in that cannot ask a user: what is needed, and how to go on.
  public var unanswered: Failure {
    let answers: String
    switch step {
    case .code, .totpSetup: answers = "code=-"
    case .newPassword(let required):
      let attributes = required.map { " \(ShellWord.quoted("attributes.\($0)=@FILE"))" }
      answers = "password=-" + attributes.joined()
    case .select: answers = "choice=NAME"
    case .password: answers = "password=-"
    case .custom: answers = "answer=-"
    case .browser: answers = "response=-"
    case .device: answers = "--wait 300"
    case .confirm: answers = "confirm=true"
    case .unknown: answers = "--cancel"
    }
    var failure = Failure(
      .notPermitted,
      "\(need); within \(expiresIn) s answer with 'credctl respond \(handle) \(answers)'")
    failure.handle = handle
    return failure
  }

  private var need: String {
    switch step {
    case .code: "the sign-in needs the code \(origin)"
    case .newPassword(let required) where required.isEmpty: "the sign-in needs a new password"
    case .newPassword(let required):
      "the sign-in needs a new password, and " + required.joined(separator: ", ")
    case .select(let choices):
      isDevice
        ? "the sign-in asks whether to remember this device: yes or no"
        : "the sign-in needs a choice of " + choices.joined(separator: ", ")
    case .password: "the sign-in needs the password"
    case .totpSetup:
      "the sign-in needs the first code of an authenticator app, for the Secret that '--json' shows"
    case .custom: "the sign-in asks \(name)" + (asked.isEmpty ? "" : " (\(asked))")
    case .browser:
      "the sign-in needs a browser: open the Url that '--json' shows, and give the address at which it "
        + "ends"
    case .device(let device):
      "the sign-in needs the code \(device.userCode) typed at \(device.url), by you alone"
    case .confirm:
      "the sign-in has to be confirmed: " + ConfirmStep(self).lines.joined(separator: " ")
    case .unknown(let step): "this credctl is older than credd and does not know the step \(step)"
    }
  }

  /// Whether the question is if the pool should remember this device.
  var isDevice: Bool { name == "DEVICE" }

  /// Whether an authenticator app makes the code.
  var isOfApp: Bool { step == .totpSetup || step == .code && parameters["Medium"]?.text == "app" }

  /// The source of the code.
  var origin: String {
    let destination = parameters["Destination"]?.text
    return switch parameters["Medium"]?.text {
    case "app": "that the authenticator app shows" + (destination.map { " (\($0))" } ?? "")
    case "sms": "that was sent by SMS" + (destination.map { " to \($0)" } ?? "")
    case "email": "that was sent by e-mail" + (destination.map { " to \($0)" } ?? "")
    default: "that was sent" + (destination.map { " to \($0)" } ?? "")
    }
  }

  /// The parameters of a custom question of the provider.
  var asked: String {
    guard case .object(let members) = parameters else { return "" }
    return members.map { "\($0.key): \($0.value.text ?? "")" }.joined(separator: ", ")
  }
}

extension Failure {
  /// This failure, after so many answers that were refused. The codes of an app depend on the phone's time,
  /// so that a right code is refused again and again if that is wrong.
  public func advisingClock(_ challenge: Challenge, refused: Int) -> Failure {
    guard refused >= 2, challenge.isOfApp, let range = message.firstRange(of: "check it and ")
    else {
      return self
    }
    var failure = self
    failure.message.replaceSubrange(range, with: "check it and this phone's clock, and ")
    return failure
  }

  /// This failure with advice how to answer again, if no user can be asked.
  public func advisingAnswer(_ challenge: Challenge) -> Failure {
    let open = challenge.unanswered
    var failure = self
    failure.message += "; " + open.message
    failure.status = open.status
    return failure
  }
}
