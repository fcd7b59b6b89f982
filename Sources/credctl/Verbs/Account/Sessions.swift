import ArgumentParser
import CredCore
import CredctlKit

struct SessionsAction: AccountVerb {
  static let action = AccountAction.sessions
  static let configuration = explained(
    "List your sessions at the user pool, in all its apps and browsers.",
    "A pool lists them if its owner lets it track sessions.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var account: AccountOptions

  func run() throws { try printPages(of: .sessions) }
}

struct EndSessionAction: AccountVerb {
  static let action = AccountAction.endSession
  static let configuration = explained(
    "End another session than this one, which 'credctl logout' ends.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var account: AccountOptions

  @Argument(help: "The session, as 'sessions' names it.")
  var session: String

  func run() throws {
    let answer = try ask(hasSecret: false) { $0.add("session", session) }
    try print(answer, "the session has ended\n")
  }
}
