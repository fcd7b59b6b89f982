import Foundation
import TestSupport
import Testing

/// What a host lives through when its network goes away and comes back, whatever the way.
///
/// Six sessions hold credentials, and six were never asked for: the former fail at Cognito, for
/// which they have a token, the latter at the backend. Six failures are one more than it takes to
/// find an endpoint away.
struct OutageStory {
  private static var words: some RegexComponent {
    #/offline since \d{4}-\d\d-\d\dT[\d:]+Z, retrying at \d{4}-\d\d-\d\dT[\d:]+Z: /#
  }

  private static let warm = (0..<6).map { "warm\($0)" }
  private static let cold = (0..<6).map { "cold\($0)" }

  static func configuration(
    backend url: String, endpoint: String, timeout: String = "60s", backend: String = "",
    profile: String = ""
  ) -> String {
    Configuration.http(url: url, timeout: timeout, backend: backend)
      + (warm + cold).map { Configuration.profile($0, endpoint: endpoint, profile) }.joined()
  }

  let host: TestHost
  private let before: [JSON]

  init(_ host: TestHost) throws {
    self.host = host
    before = try Self.warm.map { try host.credentials($0) }
  }

  /// Checks what is promised while the network is away.
  func endure() throws {
    try waitForWords(Self.warm.map { #"{"profile":"\#($0)","refresh":true,"wait":3}"# })
    try waitForWords(Self.cold.map { #"{"profile":"\#($0)","wait":3}"# })
    for (profile, credentials) in zip(Self.warm, before) {
      // At once: credd serves what it has and does not call upstream first.
      expect(try host.ask(#"{"profile":"\#(profile)","wait":0}"#), equals: credentials)
      expect(try host.state(profile), equals: "signedIn")
    }
    expect(try host.get("--profile", Self.warm[0]).status, equals: 0)
    // Nobody who is offline is told to sign in.
    for session in try sessions() {
      expect(session["LastError"]?["Code"]?.text != "SignInRequired", "\(session)")
    }
  }

  private func sessions() throws -> [JSON] {
    let status = try host.ask(#"{"op":"status"}"#)
    guard case .array(let sessions) = status["Sessions"] else { return [] }
    return sessions
  }

  /// Checks that the next `get` after the network's return brings it all back.
  func recover() throws {
    for profile in Self.cold { _ = try host.credentials(profile) }
    for (profile, credentials) in zip(Self.warm, before) {
      expect(try host.credentials(profile, refresh: true) != credentials)
    }
    let sessions = try sessions()
    expect(sessions.count, equals: Self.warm.count + Self.cold.count)
    expect(sessions.allSatisfy { $0["State"]?.text == "signedIn" }, "\(sessions)")
  }

  /// Asks all of them at once, again and again, until one is told since when it is offline and
  /// when that is looked at again; no reply says anything else than that upstream is unavailable.
  private func waitForWords(_ lines: [String]) throws {
    try Deadline.usual.wait(for: "the words of an outage") {
      let callers = try lines.map { line in
        let socket = try host.connect()
        try socket.send(line + "\n")
        return socket
      }
      let replies = try callers.map { try $0.reply() }
      for reply in replies {
        let code = try #require(reply.errorCode, "somebody was served")
        try #require(
          ["BackendUnavailable", "CognitoUnavailable", "Timeout"].contains(code), "\(reply)")
      }
      return replies.contains {
        $0.errorMessage?.contains(Self.words) == true
      }
    }
  }
}
