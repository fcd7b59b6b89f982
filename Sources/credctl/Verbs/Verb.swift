import ArgumentParser
import CredctlKit

/// A verb that talks to the daemon.
protocol Verb: ParsableCommand {
  var program: Credctl { get }
  var connection: SocketOption { get }
}

extension Verb {
  /// The value of `--socket`. A value after the verb takes precedence over one before it.
  var socket: String? { connection.socket ?? program.socket }
  var client: Client { Client(socketArgument: socket) }
}

/// A verb that prints a session's state: one line for people, or the daemon's line.
protocol SessionVerb: Verb {
  var profile: String { get }
  var format: JSONFlag { get }
}

extension SessionVerb {
  func showSession(
    _ request: consuming RequestLine, seconds: Int, secret: SecretDelivery = .none
  ) throws(Failure) {
    let answer = try client.ask(
      request.finished(), for: .session, profile: profile, seconds: seconds,
      secret: secret)
    try showSession(answer)
  }

  func showSession(_ answer: Answer) throws(Failure) {
    guard !format.json else { return try answer.print() }
    try StandardStream.output.write(answer.session)
  }
}

/// A verb that puts credentials into an environment, where a program keeps them until they expire.
protocol EnvironmentVerb: Verb {
  var selection: ProfileOption { get }
  var lifetime: EnvironmentOptions { get }
}

extension EnvironmentVerb {
  func getOptions() throws(Failure) -> GetOptions {
    GetOptions(
      forEnvironment: selection.named, socket: socket,
      waiting: try Waiting(minimumLifetime: lifetime.minTtl, wait: lifetime.wait),
      refresh: lifetime.refresh)
  }

  /// The credentials, with the pool's region if the environment has none.
  func variables(_ options: GetOptions) throws(Failure) -> CredentialVariables {
    let environment = Environment.value(of:)
    do {
      guard !CredentialVariables.hasRegion(environment) else {
        return try CredentialVariables(client.credentials(options).reply, environment: environment)
      }
      let (credentials, identity) = try client.askForBoth(options)
      return try CredentialVariables(
        credentials, region: identity.flatMap(CredentialVariables.region(ofIdentity:)))
    } catch {
      throw error.advisingShorterLifetime
    }
  }
}
