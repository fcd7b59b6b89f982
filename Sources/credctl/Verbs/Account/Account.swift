import ArgumentParser
import CredctlKit

struct Account: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Do something with your account at the backend: make it, show it, change it.",
    usage: "credctl account [<profile>] <action> [<option> ...]",
    discussion: """
      The backend's configuration says which actions there are (account_actions). Passwords, codes \
      and attributes are asked for on the terminal, or come from standard input and files: every \
      user of the host could read them on the command line.

        credctl account staff sign-up --username alice --attribute email
        credctl account staff confirm --username alice
        credctl account staff get
      """,
    subcommands: [
      SignUpAction.self, ConfirmAction.self, ResendAction.self, ForgotPasswordAction.self,
      ResetPasswordAction.self, GetAction.self, ChangePasswordAction.self,
      SetAttributesAction.self, VerifyAttributeAction.self, DeleteAttributesAction.self,
      MFAAction.self, TOTPAction.self, DevicesAction.self, RememberDeviceAction.self,
      ForgetDeviceAction.self, SessionsAction.self, EndSessionAction.self, DeleteAction.self,
    ])

  func run() throws {
    throw Failure(
      .usage, "say what to do, such as 'get' or 'sign-up': see 'credctl help account'")
  }
}
