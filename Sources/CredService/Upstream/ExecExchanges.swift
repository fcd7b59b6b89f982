import CredCore

/// The commands of a backend of type `exec`.
struct ExecExchanges: BackendExchanges {
  let settings: ExecBackendSettings
  let called: CalledBackend

  init(_ settings: ExecBackendSettings, _ called: CalledBackend) {
    self.settings = settings
    self.called = called
  }

  func token(
    _ query: TokenQuery, _ parts: TokenQueryParts, _ user: UnixUser
  ) throws(Unprepared) -> Prepared<UpstreamOutcome> {
    let exec = ExecBackend(name: called.name)
    var environment = settings.environment
    for (name, value) in try inputs.values(of: settings.environmentFiles, for: upstream) {
      environment[name] = value
    }
    let command = Command(
      settings.command, environment: Command.environment(environment),
      input: exec.standardInput(query), timeout: called.settings.timeout)
    return .command(
      PreparedCommand(command: command) { output throws(UpstreamFailure) in
        UpstreamOutcome(try exec.token(from: output, to: query), clock)
      })
  }
}

extension Command {
  /// The environment of a command, without credd's own environment.
  static func environment(_ settings: [String: Secret]) -> [(name: String, value: Secret)] {
    var environment = settings
    environment["PATH"] = settings["PATH"] ?? Secret("/usr/local/bin:/usr/bin:/bin")
    return environment.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
  }
}
