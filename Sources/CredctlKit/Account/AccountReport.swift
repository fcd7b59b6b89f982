public import CredCore

/// The result of an action of `account`, for people.
public enum AccountReport {
  /// Where a code went, from the reply to `account`; nil if the reply does not say it.
  ///
  /// - Parameter reply: a reply that was checked against ``ReplyShape/account``.
  public static func delivery(_ reply: JSONValue) -> String? {
    guard let delivery = reply["Delivery"], let destination = delivery["Destination"]?.text else {
      return nil
    }
    let medium =
      switch delivery["Medium"]?.text?.lowercased() {
      case "sms": " by SMS"
      case "email": " by e-mail"
      default: ""
      }
    return PlainText.oneLine("a code was sent\(medium) to \(destination)")
  }

  /// The reply to `forget-device`: the sign-in of this host may stand on that device.
  public static func deviceForgotten(_ reply: JSONValue, _ profile: String) -> String {
    guard reply["State"]?.text == "signedOut" else { return "the device is forgotten\n" }
    return "the device is forgotten; it was that of this sign-in, which has ended: sign in again "
      + "with '\(AdvisedCommand.login(profile))'\n"
  }

  /// The reply to `sign-up`.
  public static func signedUp(_ reply: JSONValue, _ profile: String, username: String) -> String {
    let confirm = AdvisedCommand.account("confirm", profile, username: username)
    if let delivery = delivery(reply) {
      return PlainText.oneLine("\(delivery); confirm the account with '\(confirm)'") + "\n"
    }
    return reply["Confirmed"]?.bool ?? true
      ? "the account is there; sign in with '\(AdvisedCommand.login(profile, username: username))'\n"
      : "the account is to be confirmed\n"
  }

  /// The reply to `set-attributes`: a new address counts when its code came back.
  public static func attributesSet(_ reply: JSONValue, _ profile: String) -> String {
    guard let delivery = delivery(reply) else { return "the attributes are changed\n" }
    let isPhone = reply["Delivery"]?["Medium"]?.text?.lowercased() == "sms"
    let action = "verify-attribute \(isPhone ? "phone_number" : "email") --have-code"
    return "\(delivery); then '\(AdvisedCommand.account(action, profile))'\n"
  }

  /// The reply to `get`: attributes and second factors, one in each line.
  public static func account(_ reply: JSONValue, on display: TextTable.Display) -> String {
    var table = TextTable(header: ["ATTRIBUTE", "VALUE"], shrinking: [(1, 10), (0, 10)])
    if case .object(let attributes) = reply["Attributes"] {
      for attribute in attributes {
        table.append([TextTable.Cell(attribute.key), TextTable.Cell(attribute.value.text)])
      }
    }
    let enabled = texts(reply["Mfa"]?["Enabled"])
    let factors = enabled.map { factor in
      factor == reply["Mfa"]?["Preferred"]?.text ? "\(factor) (preferred)" : factor
    }
    let head = [
      "account \(reply["Username"]?.text ?? "-")",
      "second factors: \(factors.isEmpty ? "none" : factors.joined(separator: ", "))",
    ]
    return head.map { PlainText.oneLine($0) + "\n" }.joined() + "\n" + table.rendered(on: display)
  }

  private static func texts(_ value: JSONValue?) -> [String] {
    guard case .array(let elements) = value else { return [] }
    return elements.compactMap(\.text)
  }
}
