import ArgumentParser
import CredCore
import CredctlKit

/// `--username`.
struct AccountName: ParsableArguments {
  @Option(help: "The name of the account; else $USER.")
  var username: String?

  func given() throws(Failure) -> String { try UserName.given(username) }
}

/// `--code-stdin`.
struct CodeOption: ParsableArguments {
  @Flag(help: "Read the code from standard input: a line.")
  var codeStdin = false

  func read(_ prompt: String = "Code: ") throws(Failure) -> Secret {
    guard !codeStdin else { return try SecretText.token(SecretInput.line(), name: "code") }
    return try Terminal(instead: "no terminal to ask for the code: use '--code-stdin'")
      .answer(to: Question.Item("code", prompt, .secret))
  }
}

/// A new password.
enum NewPassword {
  /// - Parameter isOnInput: whether the password is the next line of standard input.
  static func read(_ prompt: String, isOnInput: Bool) throws(Failure) -> Secret {
    guard !isOnInput else { return try SecretText.password(SecretInput.line()) }
    return try SecretText.password(Terminal().newPassword(prompt: prompt).bytes)
  }
}

/// Attributes of an account: `NAME=@FILE`, `NAME=-`, or `NAME` to be asked for the value.
enum AttributeValues {
  /// - Parameter option: the option's name, for errors.
  static func read(
    _ texts: [String], option: String, inputIsTaken: Bool = false
  ) throws(Failure) -> [(provider: String, token: Secret)] {
    let named = texts.filter { !$0.contains("=") }
    let sources = try LoginSource.list(
      texts.filter { $0.contains("=") }, option: option, names: .attributes,
      most: Limits.Upstream.accountAttributes)
    var attributes: [(provider: String, token: Secret)] = []
    for source in sources {
      let bytes: [UInt8]
      switch source.origin {
      case .standardInput:
        guard !inputIsTaken else {
          throw Failure(.usage, "standard input has the password already")
        }
        bytes = try SecretInput.standardInput()
      case .file(let path): bytes = try SecretInput.contents(ofFile: path)
      }
      attributes.append((source.provider, try SecretText.token(bytes, name: source.provider)))
    }
    for name in named {
      guard !attributes.contains(where: { $0.provider == name }) else {
        throw Failure(.usage, "\(option.isEmpty ? "" : "option '\(option)' ")names \(name) twice")
      }
      let terminal = try Terminal(
        instead: "no terminal to ask for '\(name)': give it as NAME=@FILE or NAME=-")
      attributes.append(
        (name, try terminal.answer(to: Question.Item(name, "\(name): ", .line, isAttribute: true))))
    }
    return attributes
  }
}
