import Foundation
import Glibc

/// What tests do on the machine and ask it.
extension Machine {
  /// Runs a shell command that must succeed.
  ///
  /// - Parameter user: in whose name; root unless given.
  /// - Returns: its standard output, without the last line's end.
  @discardableResult
  func sh(_ command: String, as user: String? = nil, input: String = "") throws -> String {
    let outcome = try attempt(command, as: user, input: input)
    guard outcome.status == 0 else { throw Unexpected("\(command)\n\(outcome)") }
    return outcome.output.trimmingCharacters(in: .newlines)
  }

  /// Runs a shell command that may fail.
  func attempt(
    _ command: String, as user: String? = nil, input: String = ""
  ) throws -> Command.Outcome {
    guard let user else { return try run(command, input: input) }
    let script = command.replacing("'", with: #"'\''"#)
    return try run(
      "runuser -u \(user) -- env HOME=/home/\(user) USER=\(user) "
        + "XDG_RUNTIME_DIR=/run/user/$(id -u \(user)) bash -o pipefail -c '\(script)'",
      input: input)
  }

  /// Runs `command` again and again until it succeeds.
  func wait(for what: String, until command: String, seconds: Double = 20) throws {
    try wait(for: what, seconds: seconds) { try run(command).status == 0 }
  }

  func wait(for what: String, seconds: Double = 20, until condition: () throws -> Bool) throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while try !condition() {
      guard ContinuousClock.now < end else { throw Unexpected("waited in vain for \(what)") }
      usleep(20_000)
    }
  }

  func write(_ path: String, _ content: String) throws {
    try sh("mkdir -p $(dirname \(path)) && cat >\(path)", input: content)
  }

  /// Adds settings to a unit, and lets systemd read them.
  func dropIn(_ unit: String, _ settings: String) throws {
    try write("/etc/systemd/system/\(unit).d/test.conf", settings)
    try sh("systemctl daemon-reload")
  }

  func configure(_ configuration: String) throws {
    try write("/etc/credd/credd.conf", configuration)
  }

  /// The access key that a user gets.
  func accessKey(of user: String, profile: String = "default", _ options: String = "") throws
    -> String
  {
    let line = try sh("credctl get --profile \(profile) \(options)", as: user)
    return try JSONDecoder().decode(Credentials.self, from: Data(line.utf8)).accessKeyID
  }

  private struct Credentials: Decodable {
    enum CodingKeys: String, CodingKey { case accessKeyID = "AccessKeyId" }
    let accessKeyID: String
  }

  /// A property of a unit.
  func property(_ name: String, of unit: String = "credd.service") throws -> String {
    try sh("systemctl show --value --property=\(name) \(unit)")
  }

  /// How often credd asked something of the backend, Cognito or STS.
  var upstreamCalls: Int {
    get throws {
      let reply = try sh("curl --silent --fail \(Self.sandbox)/control/stats")
      return try JSONDecoder().decode(Stats.self, from: Data(reply.utf8)).calls.values.reduce(0, +)
    }
  }

  private struct Stats: Decodable {
    enum CodingKeys: String, CodingKey { case calls = "Calls" }
    let calls: [String: Int]
  }

  /// All that the journal says since the test's beginning.
  func journalText() throws -> String {
    try sh("journalctl --since=@$(cat /root/began) --output=short-precise")
  }

  /// credd's journal entries since the test's beginning, or those that match.
  func journal(_ matches: String = "") throws -> [[String: String]] {
    let lines = try sh(
      "journalctl --since=@$(cat /root/began) -o json SYSLOG_IDENTIFIER=credd \(matches)")
    return try lines.split(separator: "\n").map {
      try JSONDecoder().decode([String: Text].self, from: Data($0.utf8)).mapValues(\.value)
    }
  }

  /// journalctl writes what is no text as an array of bytes, and what is too long as null.
  private struct Text: Decodable {
    let value: String

    init(from decoder: any Decoder) throws {
      value = (try? decoder.singleValueContainer().decode(String.self)) ?? ""
    }
  }

  /// Brings everything back to how it was after the installation.
  func reset() throws {
    try configure(
      """
      [backend corp]
      type = http
      url = \(Self.sandbox)/token

      \(Self.profile("default"))
      """)
    // Errors do not end it: a test may have left anything behind.
    _ = try run(
      """
      rm -rf /etc/systemd/system/credd.{service,socket}.d
      systemctl daemon-reload
      systemctl disable --quiet credd-endpoint.socket credd-metrics.timer
      systemctl stop credd-metrics.timer credd-endpoint.socket credd-tokens.socket credd.socket credd.service
      systemctl reset-failed
      rm -rf /var/lib/credd /run/credd-sessions
      systemctl start credd.socket credd-tokens.socket
      curl --silent --fail --request DELETE \(Self.sandbox)/control/fault
      date +%s.%6N >/root/began
      """)
  }

  /// A profile of the sandbox's pool.
  static func profile(
    _ name: String, backend: String = "corp", at endpoint: String = sandbox, _ more: String = ""
  ) -> String {
    """
    [profile \(name)]
    identity_pool_id = \(pool)
    developer_provider = login.example.app
    backend = \(backend)
    cognito_endpoint = \(endpoint)
    \(more)

    """
  }
}
