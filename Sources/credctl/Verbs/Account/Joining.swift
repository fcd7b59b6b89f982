import ArgumentParser
import CredCore
import CredctlKit

struct SignUpAction: AccountVerb {
  static let action = AccountAction.signUp
  static let configuration = explained(
    "Make an account.",
    """
    The password is asked for on the terminal, twice, or read from standard input. Attributes that \
    are named alone are asked for.

      credctl account staff sign-up --username alice --attribute email
      credctl account sign-up --username alice --attribute Invitation=@invitation
    """)

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var account: AccountOptions
  @OptionGroup var name: AccountName

  @OptionGroup var metadata: ClientMetadataOption

  @Flag(help: "Read the password from standard input: its first line.")
  var passwordStdin = false

  @Option(
    help: ArgumentHelp(
      "An attribute of the account: NAME to be asked, or NAME=@FILE, NAME=-; repeatable.",
      valueName: "name"))
  var attribute: [String] = []

  func run() throws {
    let texts = try metadata.entries
    let username = try name.given()
    try checkOffer(asks: !passwordStdin)
    let attributes = try AttributeValues.read(
      attribute, option: "--attribute", inputIsTaken: passwordStdin)
    let password = try NewPassword.read(
      "New password of \(username) for profile \(profile): ", isOnInput: passwordStdin)
    let answer = try ask { request in
      request.add("username", username)
      request.add("password", password)
      if !attributes.isEmpty { request.add("attributes", attributes) }
      request.add(metadata: texts)
    }
    try print(answer, AccountReport.signedUp(answer.reply, profile, username: username))
  }
}

struct ConfirmAction: AccountVerb {
  static let action = AccountAction.confirm
  static let configuration = explained("Confirm a new account with the code that was sent.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var account: AccountOptions
  @OptionGroup var name: AccountName
  @OptionGroup var code: CodeOption
  @OptionGroup var metadata: ClientMetadataOption

  func run() throws {
    let texts = try metadata.entries
    let username = try name.given()
    try checkOffer(asks: !code.codeStdin)
    let code = try code.read("Code for the account \(username): ")
    let answer = try ask { request in
      request.add("username", username)
      request.add("code", code)
      request.add(metadata: texts)
    }
    let login = AdvisedCommand.login(profile, username: username)
    try print(answer, "the account is confirmed; sign in with '\(login)'\n")
  }
}

struct ResendAction: AccountVerb {
  static let action = AccountAction.resend
  static let configuration = explained("Send the code that confirms a new account once more.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var account: AccountOptions
  @OptionGroup var name: AccountName
  @OptionGroup var metadata: ClientMetadataOption

  func run() throws {
    let texts = try metadata.entries
    let username = try name.given()
    let answer = try ask(hasSecret: false) { request in
      request.add("username", username)
      request.add(metadata: texts)
    }
    try print(answer, "a code is on its way, if there is such an account that waits for one\n")
  }
}

struct ForgotPasswordAction: AccountVerb {
  static let action = AccountAction.forgotPassword
  static let configuration = explained(
    "Have a code sent for a forgotten password.",
    "Whether there is such an account is not said. With the code, 'reset-password' sets a new one.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var account: AccountOptions
  @OptionGroup var name: AccountName
  @OptionGroup var metadata: ClientMetadataOption

  func run() throws {
    let texts = try metadata.entries
    let username = try name.given()
    let answer = try ask(hasSecret: false) { request in
      request.add("username", username)
      request.add(metadata: texts)
    }
    try print(
      answer,
      "a code is on its way, if there is such an account; then "
        + "'\(AdvisedCommand.account("reset-password", profile, username: username))'\n")
  }
}

struct ResetPasswordAction: AccountVerb {
  static let action = AccountAction.resetPassword
  static let configuration = explained(
    "Set a new password with the code of 'forgot-password'.",
    "On standard input the code is the first line, and the password the next one.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var account: AccountOptions
  @OptionGroup var name: AccountName
  @OptionGroup var code: CodeOption
  @OptionGroup var metadata: ClientMetadataOption

  @Flag(help: "Read the new password from standard input: a line.")
  var passwordStdin = false

  func run() throws {
    let texts = try metadata.entries
    let username = try name.given()
    try checkOffer(asks: !code.codeStdin)
    let code = try code.read("Code for the account \(username): ")
    let password = try NewPassword.read(
      "New password of \(username) for profile \(profile): ", isOnInput: passwordStdin)
    let answer = try ask { request in
      request.add("username", username)
      request.add("code", code)
      request.add("password", password)
      request.add(metadata: texts)
    }
    let login = AdvisedCommand.login(profile, username: username)
    try print(answer, "the password is changed; sign in with '\(login)'\n")
  }
}
