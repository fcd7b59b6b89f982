import ArgumentParser
import CredCore
import CredctlKit

struct GetAction: AccountVerb {
  static let action = AccountAction.get
  static let configuration = explained("Show the account's attributes and second factors.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var account: AccountOptions

  func run() throws {
    let answer = try ask(hasSecret: false)
    try print(
      answer, AccountReport.account(answer.reply, on: StandardStream.output.display))
  }
}

struct ChangePasswordAction: AccountVerb {
  static let action = AccountAction.changePassword
  static let configuration = explained("Change the password.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var account: AccountOptions

  @Flag(
    help: "Read both passwords from standard input: the present one, then the new one, a line each."
  )
  var passwordStdin = false

  func run() throws {
    try checkOffer(asks: !passwordStdin)
    let old =
      try passwordStdin
      ? SecretText.password(SecretInput.line())
      : SecretText.password(
        Terminal().secret(prompt: "Present password for profile \(profile): ").bytes)
    let new = try NewPassword.read(
      "New password for profile \(profile): ", isOnInput: passwordStdin)
    let answer = try ask { request in
      request.add("old_password", old)
      request.add("password", new)
    }
    try print(answer, "the password is changed\n")
  }
}

struct SetAttributesAction: AccountVerb {
  static let action = AccountAction.setAttributes
  static let configuration = explained(
    "Change attributes of the account.",
    "Without a value credctl asks for it: 'credctl account staff set-attributes email'.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var account: AccountOptions
  @OptionGroup var metadata: ClientMetadataOption

  @Argument(help: ArgumentHelp("NAME to be asked, or NAME=@FILE, NAME=-.", valueName: "name"))
  var attributes: [String]

  func run() throws {
    let texts = try metadata.entries
    try checkOffer(asks: attributes.contains { !$0.contains("=") })
    let values = try AttributeValues.read(attributes, option: "set-attributes")
    let answer = try ask { request in
      request.add("attributes", values)
      request.add(metadata: texts)
    }
    try print(answer, AccountReport.attributesSet(answer.reply, profile))
  }
}

struct VerifyAttributeAction: AccountVerb {
  static let action = AccountAction.verifyAttribute
  static let configuration = explained(
    "Prove that an address is yours: a code is sent there, and asked for.",
    "Without a terminal only the code is sent; then comes 'verify-attribute NAME --code-stdin'.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var account: AccountOptions
  @OptionGroup var code: CodeOption
  @OptionGroup var metadata: ClientMetadataOption

  @Flag(help: "Send no new code: one was sent before.")
  var haveCode = false

  @Argument(help: ArgumentHelp("The attribute, such as email.", valueName: "name"))
  var attribute: String

  func run() throws {
    let texts = try metadata.entries
    let sendsCode = !code.codeStdin && !haveCode
    guard sendsCode || texts.isEmpty else {
      throw Failure(
        .usage,
        "option '\(MetadataOption.name)' is for sending a code: no trigger gets it with one")
    }
    var delivery = ""
    if sendsCode {
      let sent = try ask(hasSecret: false) { request in
        request.add("name", attribute)
        request.add(metadata: texts)
      }
      delivery = (AccountReport.delivery(sent.reply) ?? "a code was sent") + "\n"
      guard Terminal.isThere else { return try print(sent, delivery) }
      try Terminal().show(delivery)
    }
    let code = try code.read()
    let answer = try ask { request in
      request.add("name", attribute)
      request.add("code", code)
    }
    try print(answer, PlainText.oneLine("\(attribute) is verified") + "\n")
  }
}

struct DeleteAttributesAction: AccountVerb {
  static let action = AccountAction.deleteAttributes
  static let configuration = explained("Delete attributes of the account.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var account: AccountOptions

  @Argument(help: ArgumentHelp("The attributes.", valueName: "name"))
  var names: [String]

  func run() throws {
    let answer = try ask(hasSecret: false) { $0.add("names", names) }
    try print(answer, "the attributes are deleted\n")
  }
}

struct DeleteAction: AccountVerb {
  static let action = AccountAction.delete
  static let configuration = explained(
    "Delete the account, for good.", "credctl asks once more, unless '--yes' is given.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var account: AccountOptions

  @Flag(help: "Do not ask.")
  var yes = false

  func run() throws {
    if !yes {
      try checkOffer()
      let question = Question.Item(
        "yes", "Delete your account of profile \(profile) for good? (yes/no) ", .decision)
      guard try ask(question, instead: "use '--yes'") == Secret("yes") else {
        throw Failure(.interrupted, "nothing was deleted")
      }
    }
    let answer = try ask(hasSecret: false)
    try print(answer, "the account is deleted\n")
  }
}
