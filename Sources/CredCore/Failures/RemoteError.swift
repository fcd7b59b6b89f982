/// An error in a reply of AWS.
struct RemoteError: Equatable {
  /// The error's name, without `namespace#` and `:url`.
  let name: String
  /// The error's text, cleaned for credd's own messages.
  let message: String?

  /// Returns nil if the name cannot be an error's name: then the reply did not come from the
  /// service.
  ///
  /// - Parameter sent: secrets to hide in the message.
  init?(name: some StringProtocol, message: Secret?, hiding sent: SentSecrets) {
    let local = name.split(separator: "#").last?.split(separator: ":").first ?? ""
    // Messages show the name: a text that may be a secret is not taken as a name.
    guard (1...128).contains(local.utf8.count), local.containsOnlyLettersDigits(or: "._"),
      RemoteText.clean(local.utf8).map({ $0 == local }) ?? false
    else { return nil }
    self.name = String(local)
    // What a trigger of a user pool says, its owner wrote: UserLambdaValidationException and its like.
    let isFromAWS = !local.contains(bytesOf: "Lambda")
    self.message = message.flatMap {
      RemoteText.clean($0.bytes, hiding: sent, isFromAWS: isFromAWS)
    }
  }

  /// Reads `{"__type": "ns#Name", "message": …}`, or the name in `x-amzn-ErrorType: Name:url`; nil if
  /// the reply has neither.
  ///
  /// - Parameter limit: the most bytes of a body that are read.
  init?(json reply: HTTPReply, limit: Int) {
    let body = reply.body.count <= limit ? try? JSONValue.parse(foreign: reply.body) : nil
    guard let name = body?["__type"]?.text ?? reply.header("x-amzn-ErrorType") else { return nil }
    self.init(
      name: name, message: body?["message"]?.secret ?? body?["Message"]?.secret,
      hiding: reply.sent)
  }

  /// Upper and lower case are equal here: services change the wording of messages without notice.
  func fits(_ row: FailureTable.Row) -> Bool {
    guard row.name == name else { return false }
    if row.saying.isEmpty { return true }
    guard let text = message?.lowercased() else { return false }
    return row.saying.lowercased().split(separator: "…").allSatisfy {
      text.contains(bytesOf: String($0))
    }
  }
}
