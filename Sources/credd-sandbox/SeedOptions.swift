import ArgumentParser
import FoundationEssentials
import SandboxKit

/// What is in the sandbox at its start.
struct SeedOptions: ParsableArguments {
  @Option(help: "JSON seed; the options below override it.")
  var config: String?

  @Option(help: "Identity pool of the default seed.")
  var pool: String?

  @Option(help: "The pool's developer provider.")
  var provider: String?

  @Option(help: "Users, separated by commas.")
  var users: String?

  @Flag(help: "Know every user that is asked for.")
  var anyUser = false

  @Flag(help: "Allow unauthenticated identities.")
  var unauthenticated = false

  @Flag(help: "Want a sign-in session for every token.")
  var requireSession = false

  @Option(help: "Bearer token that the token backend wants.")
  var backendToken: String?

  @Option(help: "Seconds that credentials of the enhanced flow last.")
  var credentialLifetime: Int?

  @Option(help: "Seconds that developer tokens last.")
  var tokenLifetime: Int?

  @Option(help: "Characters of a session token.")
  var sessionTokenLength: Int?

  func validate() throws {
    let bounds: [(String, Int?, ClosedRange<Int>)] = [
      ("--credential-lifetime", credentialLifetime, 0...43_200),
      ("--token-lifetime", tokenLifetime, 0...86_400),
      ("--session-token-length", sessionTokenLength, 32...100_000),
    ]
    for (name, value, range) in bounds {
      guard let value, !range.contains(value) else { continue }
      throw ValidationError("\(name) must be from \(range.lowerBound) to \(range.upperBound)")
    }
    guard config == nil || (pool == nil && provider == nil) else {
      throw ValidationError("--pool and --provider are for the default seed, not for --config")
    }
  }

  func seed() throws -> SandboxSeed {
    var seed = try base()
    if let users { seed.users = users.split(separator: ",").map { .init(name: String($0)) } }
    seed.allowsAnyUser = anyUser || seed.allowsAnyUser
    seed.requiresSession = requireSession || seed.requiresSession
    seed.backendToken = backendToken ?? seed.backendToken
    seed.credentialLifetime = credentialLifetime ?? seed.credentialLifetime
    seed.tokenLifetime = tokenLifetime ?? seed.tokenLifetime
    seed.sessionTokenLength = sessionTokenLength ?? seed.sessionTokenLength
    if unauthenticated {
      for index in seed.pools.indices { seed.pools[index].allowsGuests = true }
    }
    return seed
  }

  private func base() throws -> SandboxSeed {
    guard let config else {
      return SandboxSeed(
        pool: pool ?? SandboxSeed.defaultPool, provider: provider ?? SandboxSeed.defaultProvider)
    }
    let bytes = Array(try Data(contentsOf: URL(filePath: config)))
    do {
      return try SandboxSeed(json: bytes)
    } catch {
      throw ValidationError("\(config): \(error.message)")
    }
  }
}
