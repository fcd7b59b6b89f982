/// An error as an AWS service names it.
struct RemoteError: Equatable {
  /// Without `namespace#` and `:url`.
  let name: String
  /// Fit to be shown.
  let message: String?

  /// Nil where the name is none: then it came from something else than the service.
  init?(name: some StringProtocol, message: Secret?) {
    let local = name.split(separator: "#").last?.split(separator: ":").first ?? ""
    guard (1...128).contains(local.utf8.count), local.holdsOnlyLettersDigits(or: "._") else {
      return nil
    }
    self.name = String(local)
    self.message = message.flatMap { RemoteText.clean($0.bytes) }
  }

  func fits(_ row: FailureTable.Row) -> Bool {
    row.name == name && (row.saying.isEmpty || message?.holds(row.saying) == true)
  }

  var description: String { message.map { "\(name): \($0)" } ?? name }
}
