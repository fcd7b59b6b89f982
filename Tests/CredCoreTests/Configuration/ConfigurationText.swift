import CredCore

/// A valid pool id.
let examplePool = "us-east-1:11111111-2222-3333-4444-555555555555"

/// A valid profile: without one there is a warning.
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

/// The diagnostics of one file.
func problems(_ text: String, environment: [String: String] = [:]) -> [String] {
  reading(text, environment: environment).diagnostics.map(\.description)
}

/// The diagnostics of a profile with these lines; the first of them is line 3 of the file.
func problems(inProfile lines: String) -> [String] {
  problems("[profile p]\nidentity_pool_id = \(examplePool)\n\(lines)\n")
}

/// The diagnostics of a backend with these lines and a profile that uses it; the first of them is
/// line 3 of the file.
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
