public import CredCore

/// A challenge for a person at a terminal: the lines to show, and the items to ask for, in order.
public struct Question: Sendable, Equatable {
  /// One item to type.
  public struct Item: Sendable, Equatable {
    public enum Kind: Sendable, Equatable {
      /// Without echo.
      case secret
      /// Without echo, and twice.
      case newPassword
      case line
      /// One of these words, by number or by name.
      case choice([String])
      /// Yes or no.
      case decision
      /// Yes; any other answer ends the sign-in.
      case consent
    }

    /// The name of the answer in `respond`; with ``isAttribute``, the name of an attribute.
    public let name: String
    public let prompt: String
    public let kind: Kind
    public var isAttribute = false
  }

  /// Lines before the first prompt. Like all texts here, they are safe for a terminal.
  public let lines: [String]
  public let items: [Item]
  /// The text of the QR code for an authenticator app.
  public let uri: Secret?

  /// - Parameter username: the user name in the prompt for a password.
  /// - Throws: a ``Failure`` for a step that this credctl does not know.
  public init(_ challenge: Challenge, username: String, profile: String) throws(Failure) {
    var lines: [String] = []
    var uri: Secret?
    let items: [Item]
    switch challenge.step {
    case .code:
      items = [Item("code", "Code \(challenge.origin): ", .secret)]
    case .newPassword(let required):
      lines = ["Your password has to be changed."]
      items =
        [Item("password", "New password of \(username) for profile \(profile): ", .newPassword)]
        + required.map { Item($0, "\($0): ", .line, isAttribute: true) }
    case .select where challenge.isDevice:
      lines = ["A remembered device takes the place of a second factor."]
      items = [Item("choice", "Remember this device? (yes/no) ", .decision)]
    case .select([]):
      throw Failure(
        .unavailable,
        "the sign-in offers nothing to choose from: tell the administrator of this host")
    case .select(let choices):
      lines = Self.menu(choices)
      items = [Item("choice", "Your choice: ", .choice(choices))]
    case .password:
      items = [Item("password", "Password of \(username) for profile \(profile): ", .secret)]
    case .totpSetup:
      uri = challenge.parameters["Uri"]?.secret
      lines = Self.setUp(challenge.parameters)
      items = [Item("code", "Code that the app shows: ", .secret)]
    case .custom where challenge.name == "MFA_SETUP":
      items = [Item("answer", "Address for the codes: ", .line)]
    case .custom:
      lines = Self.own(challenge)
      items = [Item("answer", "Answer: ", .secret)]
    case .confirm:
      lines = ConfirmStep(challenge).lines
      items = [Item("confirm", "Is that you, and is that what you want? (yes/no) ", .consent)]
    case .browser, .device:
      throw Failure(.notPermitted, "the sign-in goes on elsewhere: there is nothing to type")
    case .unknown(let step):
      throw Failure(
        .unavailable,
        "the sign-in asks for a step that this credctl does not know, \(step): upgrade credctl")
    }
    self.lines = lines.map(PlainText.oneLine)
    self.items = items
    self.uri = uri
  }

  /// The question of an action of `account` for the code of a new authenticator app.
  public init(settingUpAppFrom reply: JSONValue) {
    lines = Self.setUp(reply).map(PlainText.oneLine)
    items = [Item("code", "Code that the app shows: ", .secret)]
    uri = reply["Uri"]?.secret
  }

  private static func setUp(_ parameters: JSONValue) -> [String] {
    [
      "Add this account to an authenticator app.",
      "Secret: \(parameters["Secret"]?.text ?? "-")", "URI: \(parameters["Uri"]?.text ?? "-")",
    ]
  }

  private static func own(_ challenge: Challenge) -> [String] {
    guard case .object(let members) = challenge.parameters, !members.isEmpty else {
      return ["The sign-in asks \(challenge.name)."]
    }
    return ["The sign-in asks \(challenge.name):"]
      + members.prefix(Self.mostLines).map { "  \($0.key): \($0.value.text ?? "")" }
  }

  /// The most lines of a custom question of the provider, and the most choices of a menu.
  private static let mostLines = 50

  private static func menu(_ choices: [String]) -> [String] {
    choices.prefix(mostLines).enumerated().map { index, choice in
      let meaning = meanings[choice].map { ": \($0)" } ?? ""
      return "  \(index + 1)  \(choice)\(meaning)"
    }
  }

  private static let meanings = [
    "SMS_MFA": "a code by SMS", "SMS_OTP": "a code by SMS", "EMAIL_OTP": "a code by e-mail",
    "SOFTWARE_TOKEN_MFA": "a code of an authenticator app",
    "PASSWORD": "the password, which goes to the user pool",
    "PASSWORD_SRP": "the password, which does not leave this host",
  ]
}

extension Question.Item {
  public init(_ name: String, _ prompt: String, _ kind: Kind, isAttribute: Bool = false) {
    self.name = name
    self.prompt = PlainText.oneLine(prompt)
    self.kind = kind
    self.isAttribute = isAttribute
  }

  /// The answer to send for a typed line.
  ///
  /// - Throws: the mistake, if the line must be typed again.
  public func answer(for typed: Secret) throws(Mistake) -> Secret {
    switch kind {
    case .secret, .newPassword:
      guard !typed.isEmpty else { throw Mistake("nothing was typed") }
      return typed
    case .line:
      let text = Secret(Array(typed.bytes.trimmed))
      guard !text.isEmpty else { throw Mistake("nothing was typed") }
      return text
    case .choice(let choices):
      let text = Self.text(typed)
      if let number = Int(text), choices.indices.contains(number - 1) {
        return Secret(choices[number - 1])
      }
      guard choices.contains(text) else {
        throw Mistake("type a number from 1 to \(choices.count)")
      }
      return Secret(text)
    case .decision:
      switch Self.text(typed).lowercased() {
      case "y", "yes": return Secret("yes")
      case "n", "no": return Secret("no")
      default: throw Mistake("type yes or no")
      }
    case .consent:
      switch Self.text(typed).lowercased() {
      case "y", "yes": return Secret("true")
      case "n", "no": return Secret("false")
      default: throw Mistake("type yes or no")
      }
    }
  }

  private static func text(_ typed: Secret) -> String {
    String(validating: typed.bytes.trimmed, as: UTF8.self) ?? ""
  }

  /// The reason why a typed line is not accepted.
  public struct Mistake: Error, Equatable, Sendable {
    public let text: String

    init(_ text: String) {
      self.text = text
    }
  }
}
