import ArgumentParser
import CredCore
import CredctlKit

struct MFAAction: AccountVerb {
  static let action = AccountAction.mfa
  static let configuration = explained(
    "Choose the second factors of the account.",
    """
    Factors: SMS_MFA, EMAIL_OTP, SOFTWARE_TOKEN_MFA, which 'totp' sets up.

      credctl account staff mfa --preferred SOFTWARE_TOKEN_MFA
      credctl account staff mfa --enabled none
    """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var account: AccountOptions

  @Option(
    help: ArgumentHelp(
      "All factors that are used from now on, with commas; or none.", valueName: "factors"),
    completion: Completion.factor)
  var enabled: String?

  @Option(
    help: ArgumentHelp("The factor that is asked for first; or none.", valueName: "factor"),
    completion: Completion.factor)
  var preferred: String?

  func validate() throws {
    guard enabled != nil || preferred != nil else {
      throw ValidationError("give '--enabled', '--preferred' or both")
    }
  }

  func run() throws {
    let answer = try ask(hasSecret: false) { request in
      if let enabled {
        let names = enabled.split(separator: ",").map(String.init)
        request.add("enabled", names == ["none"] ? [] : names)
      }
      if let preferred { request.add("preferred", preferred) }
    }
    try print(answer, "the second factors are changed\n")
  }
}

struct TOTPAction: AccountVerb {
  static let action = AccountAction.totp
  static let configuration = explained(
    "Set up an authenticator app: its QR code is shown, and its first code is asked for.",
    "Without a terminal the secret is printed; then comes 'totp --code-stdin'.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var account: AccountOptions
  @OptionGroup var code: CodeOption

  @Option(help: ArgumentHelp("A name for the app.", valueName: "name"))
  var name: String?

  @OptionGroup var qrCode: QRCodeOption

  func run() throws {
    guard !code.codeStdin else { return try verify(code.read()) }
    let secret = try ask(hasSecret: false)
    let question = Question(settingUpAppFrom: secret.reply)
    guard Terminal.isThere else {
      return try print(secret, question.lines.dropFirst().map { $0 + "\n" }.joined())
    }
    let terminal = try Terminal()
    terminal.show(question, hasQRCode: !qrCode.noQr)
    while true {
      guard let code = try terminal.answers(to: question, until: nil).texts.first?.value else {
        return
      }
      do throws(Failure) {
        return try verify(code)
      } catch {
        // After a mistyped code, the secret is still valid.
        guard error.code == ProtocolErrorCode.accountRefused.rawValue else { throw error }
        terminal.show(error.line)
      }
    }
  }

  private func verify(_ code: Secret) throws(Failure) {
    let answer = try ask { request in
      request.add("code", code)
      if let name { request.add("name", name) }
    }
    let command = AdvisedCommand.account("mfa --preferred SOFTWARE_TOKEN_MFA", profile)
    try print(answer, "the authenticator app is set up; '\(command)' turns it on\n")
  }
}

struct DevicesAction: AccountVerb {
  static let action = AccountAction.devices
  static let configuration = explained("List the devices that the user pool knows of you.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var account: AccountOptions

  func run() throws { try printPages(of: .devices) }
}

struct RememberDeviceAction: AccountVerb {
  static let action = AccountAction.rememberDevice
  static let configuration = explained(
    "Say whether a device is remembered: it then takes the place of a second factor.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var account: AccountOptions

  @Flag(inversion: .prefixedNo, help: "Whether it is remembered.")
  var remembered = true

  @Argument(help: "The device, as 'devices' names it; else this one.")
  var device: String?

  func run() throws {
    let answer = try ask(hasSecret: false) { request in
      if let device { request.add("device", device) }
      request.add("remembered", remembered)
    }
    try print(answer, "the device is \(remembered ? "" : "not ")remembered\n")
  }
}

struct ForgetDeviceAction: AccountVerb {
  static let action = AccountAction.forgetDevice
  static let configuration = explained(
    "Make the user pool and this host forget a device.",
    "Where the sign-in stands on that device, it ends.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var account: AccountOptions

  @Argument(help: "The device, as 'devices' names it; else this one.")
  var device: String?

  func run() throws {
    let answer = try ask(hasSecret: false) { if let device { $0.add("device", device) } }
    try print(answer, AccountReport.deviceForgotten(answer.reply, profile))
  }
}
