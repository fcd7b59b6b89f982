import ArgumentParser
import CredctlKit

struct Identity: SessionVerb {
  static let configuration = CommandConfiguration(
    abstract: "Show the session's state and IdentityId; asks no server.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var format: JSONFlag

  func run() throws {
    try showSession(
      RequestLine(operation: "identity", profile: selection.profile), seconds: WaitLimits.margin)
  }
}

struct Logout: SessionVerb {
  static let configuration = CommandConfiguration(
    abstract: "Sign out: forget tokens, credentials, logins and the identity.",
    discussion: "The session stays signed out until the next 'credctl login'.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var format: JSONFlag

  @Flag(help: "Tell the organisation's server too.")
  var global = false

  func run() throws {
    var request = RequestLine(operation: "logout", profile: selection.profile)
    if global { request.add("global", true) }
    try showSession(request, seconds: WaitLimits.upstream)
  }
}

struct Clear: SessionVerb {
  enum Part: String, ExpressibleByArgument, CaseIterable {
    case credentials
    case identity
  }

  static let configuration = CommandConfiguration(
    abstract: "Forget a session's credentials, or its identity too; the next get fetches anew.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var format: JSONFlag

  @Argument(help: "credentials (keeps the identity) or identity (forgets both).")
  var what: Part

  func run() throws {
    var request = RequestLine(operation: "clear", profile: selection.profile)
    request.add("what", what.rawValue)
    try showSession(request, seconds: WaitLimits.margin)
  }
}

struct Release: SessionVerb {
  static let configuration = CommandConfiguration(
    abstract: "End the wait of callers that wait for a sign-in: they get an error now.")

  @ParentCommand var program: Credctl
  @OptionGroup var connection: SocketOption
  @OptionGroup var selection: ProfileOption
  @OptionGroup var format: JSONFlag

  func run() throws {
    let request = RequestLine(operation: "release", profile: selection.profile)
    let answer = try client.ask(request.finished(), for: .released, profile: selection.profile)
    guard !format.json else { return try answer.print() }
    try StandardStream.output.write("\(answer.text("Profile")): \(answer.released) released\n")
  }
}
