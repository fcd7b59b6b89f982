import ArgumentParser
import CredCore
import CredctlKit
import TestSupport
import Testing

@testable import credctl

struct AccountArgumentsTests {
  private func ordered(_ line: String) throws(Failure) -> String {
    try AccountArguments.inOrder(line.split(separator: " ").map(String.init))
      .joined(separator: " ")
  }

  @Test(arguments: [
    ("account sign-up", "account sign-up"),
    ("account work sign-up", "account sign-up --profile=work"),
    ("account work sign-up --username a", "account sign-up --profile=work --username a"),
    ("account --username a work sign-up", "account sign-up --profile=work --username a"),
    ("account -p work sign-up", "account sign-up -p work"),
    ("account --username a sign-up", "account sign-up --username a"),
    ("--socket /s account work get --json", "--socket /s account get --profile=work --json"),
    // A profile with the name of an action.
    ("account get get", "account get --profile=get"),
    ("account verify-attribute email", "account verify-attribute email"),
    ("account work verify-attribute email", "account verify-attribute --profile=work email"),
    ("account mfa --preferred mfa", "account mfa --preferred mfa"),
    ("account set-attributes email=-", "account set-attributes email=-"),
    ("account", "account"), ("account --help", "account --help"), ("get account", "get account"),
    ("help account sign-up", "help account sign-up"), ("", ""),
  ])
  func theActionComesFirst(_ line: String, _ result: String) throws {
    expect(try ordered(line), equals: result)
  }

  @Test(arguments: [
    ("account sing-up", "there is no action 'sing-up'; did you mean 'sign-up'?"),
    ("account work frob", "there is no action 'frob': see 'credctl help account'"),
    ("account work get -p x", "give the profile once, as a word or with '--profile'"),
  ])
  func wrongWordsAreExplained(_ line: String, _ message: String) {
    let failure = #expect(throws: Failure.self) { try ordered(line) }
    expect(failure?.status == .usage && failure?.message == message, "\(failure?.message ?? "")")
  }

  @Test func everyActionOfTheProtocolIsAVerb() {
    let verbs = Account.configuration.subcommands.map { $0.configuration.commandName ?? "" }
    expect(Set(verbs), equals: Set(AccountAction.allCases.map(\.rawValue)))
    expect(verbs.count, equals: AccountAction.allCases.count)
  }
}
