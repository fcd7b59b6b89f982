@testable import CredCore

/// A policy that narrows.
let narrowPolicy =
  #"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"s3:Get*","Resource":"*"}}"#

/// Reads one file, `credd.conf`, with the policies' files that it names.
func reading(_ text: String, policies: [String: String]) -> ConfigurationReading {
  Configuration.read(
    [ConfigurationSource(name: "credd.conf", bytes: Array(text.utf8))],
    policyFile: { path in
      policies[path].map { .success(Array($0.utf8)) }
        ?? .failure(InvalidValue("cannot be read: No such file or directory"))
    }, environment: { _ in nil })
}

/// A derived profile with these lines, of which the first is line 3 of the file, and its source, which is
/// for derived profiles alone.
func derivedText(_ lines: String, source: String = "") -> String {
  """
  [profile narrow]
  source_profile = work
  \(lines)
  [profile work]
  identity_pool_id = \(examplePool)
  vend_credentials = no
  \(source)

  """
}

/// The diagnostics of that file without its name. `/p` is a policy's file, `/wide` one with a way out.
func problems(
  inDerived lines: String, source: String = "", policies: [String: String] = [:]
) -> [String] {
  problems(inText: derivedText(lines, source: source), policies: policies)
}

func problems(inText text: String, policies: [String: String] = [:]) -> [String] {
  let files = ["/p": narrowPolicy].merging(policies) { $1 }
  return reading(text, policies: files).diagnostics.map {
    String($0.description.dropFirst("credd.conf:".count))
  }
}
