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
    _ query: TokenQuery, _ parts: TokenQueryParts, _ user: UnixUser,
    _ done: @escaping Completion<PreparedCall>
  ) {
    sender.readValues(settings.environmentFiles[...], for: upstream) { values in
      done(
        values.map { values in
          .command(command(values, query)) { output throws(UpstreamFailure) in
            try outcome(of: output, query)
          }
        })
    }
  }

  private var exec: ExecBackend { ExecBackend(name: called.name) }

  private func command(
    _ values: [(name: String, value: Secret)], _ query: TokenQuery
  ) -> Command {
    var environment = settings.environment
    for (name, value) in values { environment[name] = value }
    return Command(
      settings.command, environment: Command.environment(environment),
      input: exec.standardInput(query), timeout: called.settings.timeout)
  }

  private func outcome(
    of output: ExecOutcome, _ query: TokenQuery
  ) throws(UpstreamFailure) -> UpstreamOutcome {
    UpstreamOutcome(try exec.token(from: output, to: query), clock)
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
