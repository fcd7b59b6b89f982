import ArgumentParser
import CredCore
import CredctlKit

/// An action of `account`.
protocol AccountVerb: Verb {
  static var action: AccountAction { get }
  var account: AccountOptions { get }
}

/// The options of every action.
struct AccountOptions: ParsableArguments {
  @Option(
    name: [.customShort("p"), .customLong("profile")], help: ProfileOption.help,
    completion: Completion.profileOption)
  var option: String?

  @Flag(help: "Print the daemon's line of JSON.")
  var json = false

  @Flag(help: TrustSocket.help)
  var trustSocket = false

  var profile: String {
    option ?? DefaultProfile.name(environment: Environment.value(of:))
  }
}

extension AccountVerb {
  static func explained(_ abstract: String, _ discussion: String = "") -> CommandConfiguration {
    CommandConfiguration(commandName: action.rawValue, abstract: abstract, discussion: discussion)
  }

  var profile: String { account.profile }

  /// Asks the daemon for the action.
  func ask(
    hasSecret: Bool = true, _ add: (inout RequestLine) throws(Failure) -> Void = { _ in }
  ) throws(Failure) -> Answer {
    var request = RequestLine(operation: "account", profile: profile)
    request.add("action", Self.action.rawValue)
    try add(&request)
    let delivery: SecretDelivery = account.trustSocket ? .toAnyListener : .toKnownListener
    return try client.ask(
      request.finished(), for: .account, profile: profile, seconds: WaitLimits.upstream,
      secret: hasSecret ? delivery : .none)
  }

  /// Refuses a profile that does not exist, is not open to the user or does not offer the action,
  /// before the user types anything. The daemon refuses the action only when it gets the whole
  /// request.
  ///
  /// - Parameter asks: whether the user will be asked for anything.
  func checkOffer(asks: Bool = true) throws(Failure) {
    guard asks else { return }
    if let list = try? client.profiles().reply, let offers = ProfileList.offers(list, profile) {
      guard !offers.contains(Self.action.rawValue) else { return }
      let others = offers.isEmpty ? "none" : offers.joined(separator: ", ")
      throw Failure(
        .notPermitted,
        "profile '\(profile)' does not offer the action '\(Self.action.rawValue)'; it offers \(others)"
      )
    }
    // One that is not in the list, or an older daemon.
    _ = try client.ask(
      RequestLine(operation: "identity", profile: profile).finished(), for: .session,
      profile: profile, seconds: WaitLimits.margin, secret: .none)
  }

  /// Prints the daemon's line, or a text for people.
  func print(_ answer: Answer, _ text: @autoclosure () -> String) throws(Failure) {
    guard !account.json else { return try answer.print() }
    try StandardStream.output.write(text())
  }

  /// Prints a list that comes in pages: a table, or one line of JSON.
  func printPages(of list: AccountPages.List) throws {
    var pages = AccountPages(of: list)
    repeat {
      let after = pages.next
      let answer = try ask(hasSecret: false) { if let after { $0.add("after", after) } }
      try pages.add(answer.reply)
      if account.json, pages.isOnePage { return try answer.print() }
    } while pages.next != nil
    guard !account.json else { return try StandardStream.output.write(pages.line[...]) }
    try StandardStream.output.write(
      pages.rendered(on: StandardStream.output.display, now: Clock.wallTime))
  }

  /// Asks on the terminal.
  ///
  /// - Parameter instead: the advice in the error, for a run without a terminal.
  func ask(_ item: Question.Item, instead: String) throws(Failure) -> Secret {
    try Terminal(instead: "no terminal to ask for it: \(instead)").answer(to: item)
  }
}
