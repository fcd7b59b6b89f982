import CredCore

/// A pool id that is valid.
let examplePool = "us-east-1:11111111-2222-3333-4444-555555555555"

/// A profile, so that nothing but what a test is about is reported.
let plainProfile = "[profile p]\nidentity_pool_id = \(examplePool)\n"

/// Reads one file, `credd.conf`.
func reading(_ text: String, environment: [String: String] = [:]) -> ConfigurationReading {
  reading([("credd.conf", text)], environment: environment)
}

func reading(
  _ files: [(name: String, text: String)], environment: [String: String] = [:]
) -> ConfigurationReading {
  Configuration.read(
    files.map { ConfigurationSource(name: $0.name, bytes: Array($0.text.utf8)) },
    environment: { environment[$0] })
}

/// What is reported about one file.
func problems(_ text: String, environment: [String: String] = [:]) -> [String] {
  reading(text, environment: environment).diagnostics.map(\.description)
}

/// What is reported about `lines` below the header and what the section requires; their first is
/// line 1 of the file as `shown`.
func problems(inProfile lines: String) -> [String] {
  problems("[profile p]\nidentity_pool_id = \(examplePool)\n\(lines)\n")
}

/// A backend's section with these lines from line 3 on, and a profile that uses it.
func problems(inBackend type: String, _ lines: String) -> [String] {
  problems("[backend b]\ntype = \(type)\n\(lines)\n" + userOfBackend)
}

let userOfBackend = plainProfile + "backend = b\ndeveloper_provider = d\n"

/// The settings of the backend `b`, nil on any error.
func backend(_ type: String, _ lines: String, environment: [String: String] = [:])
  -> BackendSettings?
{
  reading(
    "[backend b]\ntype = \(type)\n\(lines)\n" + userOfBackend, environment: environment
  ).configuration?.backends["b"]
}

/// The settings of the profile `p`, nil on any error.
func profile(_ lines: String, environment: [String: String] = [:]) -> ProfileSettings? {
  reading(plainProfile + lines, environment: environment).configuration?.profiles["p"]
}
