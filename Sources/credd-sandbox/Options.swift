import ArgumentParser
import FoundationEssentials
import Glibc
import SandboxKit

/// Where the sandbox listens.
struct ListeningOptions: ParsableArguments {
  @Option(help: "Port on 127.0.0.1; 0 takes any.")
  var port = 0

  @Option(help: "Port on 127.0.0.1 of a replica of the user pools; 0 takes any.")
  var replicaPort: Int?

  @Option(help: "Unix socket to serve on as well.")
  var unixSocket: String?

  @Option(help: "Server certificate in PEM; with it the sandbox serves TLS as well.")
  var tlsCertificate: String?

  @Option(help: "The certificate's key in PEM.")
  var tlsKey: String?

  @Option(help: "Port for TLS on 127.0.0.1; 0 takes any.")
  var tlsPort = 0

  @Option(
    name: .customLong("tls-client-ca"),
    help: "Ask for a client certificate of this authority.")
  var tlsClientAuthority: String?

  func validate() throws {
    for port in [port, tlsPort, replicaPort ?? 0] where !(0...65_535).contains(port) {
      throw ValidationError("\(port) is not a port")
    }
    guard (tlsCertificate == nil) == (tlsKey == nil) else {
      throw ValidationError("--tls-certificate and --tls-key go together")
    }
    guard tlsClientAuthority == nil || tlsCertificate != nil else {
      throw ValidationError("--tls-client-ca needs --tls-certificate")
    }
  }

  /// Starts every listener.
  ///
  /// - Returns: the base URLs, the plain one first, the replica's last.
  func listen(on server: SandboxServer) throws -> [String] {
    var urls = ["http://127.0.0.1:\(try server.listen(port: port))"]
    if let tlsCertificate, let tlsKey {
      let files = TLSFiles(
        certificate: try text(tlsCertificate), key: try text(tlsKey),
        clientAuthorities: try tlsClientAuthority.map(text))
      let port = try server.listen(port: tlsPort, tls: files)
      urls.append("https://127.0.0.1:\(port)")
    }
    if let replicaPort {
      urls.append("http://127.0.0.1:\(try server.listen(port: replicaPort, isReplica: true))")
    }
    if let unixSocket { try server.listen(unixSocket: unixSocket) }
    return urls
  }

  private func text(_ path: String) throws -> String {
    String(decoding: try contents(of: path), as: UTF8.self)
  }
}

/// The initial content of the sandbox.
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

  @Flag(help: "Require a sign-in session for every token.")
  var requireSession = false

  @Option(help: "Bearer token that the token backend wants.")
  var backendToken: String?

  @Option(help: "Seconds that credentials of the enhanced flow last.")
  var credentialLifetime: Int?

  @Option(help: "Seconds that developer tokens last.")
  var tokenLifetime: Int?

  @Option(help: "Characters of a session token.")
  var sessionTokenLength: Int?

  @Option(
    help: ArgumentHelp(
      "RSA key in PEM that signs tokens; made there if missing.", valueName: "file"))
  var signingKey: String?

  func validate() throws {
    try expect("--credential-lifetime", credentialLifetime, in: 0...43_200)
    try expect("--token-lifetime", tokenLifetime, in: 0...86_400)
    try expect("--session-token-length", sessionTokenLength, in: 32...100_000)
    guard config == nil || (pool == nil && provider == nil) else {
      throw ValidationError("--pool and --provider are for the default seed, not for --config")
    }
  }

  private func expect(
    _ name: String, _ value: Int?, in range: ClosedRange<Int>
  ) throws(ValidationError) {
    guard let value, !range.contains(value) else { return }
    throw ValidationError("\(name) must be from \(range.lowerBound) to \(range.upperBound)")
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

  /// Signs with the key of the file, else with a new one.
  func issuer() throws -> TokenIssuer {
    guard let signingKey else { return try TokenIssuer() }
    guard FileManager.default.fileExists(atPath: signingKey) else {
      let issuer = try TokenIssuer()
      try write(issuer.pem, to: signingKey)
      return issuer
    }
    let bytes = try contents(of: signingKey)
    do {
      return try TokenIssuer(pem: bytes)
    } catch {
      throw ValidationError("\(signingKey): not an RSA key in PEM")
    }
  }

  /// Only the owner can read the file. It appears complete at once, because another sandbox may
  /// read it.
  private func write(_ pem: [UInt8], to path: String) throws {
    let unfinished = "\(path).\(getpid())"
    let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
    guard
      FileManager.default.createFile(
        atPath: unfinished, contents: Data(pem), attributes: attributes),
      unsafe rename(unfinished, path) == 0
    else { throw ValidationError("\(path): cannot be written") }
  }

  private func base() throws -> SandboxSeed {
    guard let config else {
      return SandboxSeed(
        pool: pool ?? SandboxSeed.defaultPool, provider: provider ?? SandboxSeed.defaultProvider)
    }
    let bytes = try contents(of: config)
    do {
      return try SandboxSeed(json: bytes)
    } catch {
      throw ValidationError("\(config): \(error.message)")
    }
  }
}

/// A file of the command line.
private func contents(of path: String) throws -> [UInt8] {
  do {
    return Array(try Data(contentsOf: URL(filePath: path)))
  } catch {
    throw ValidationError("\(path): cannot be read")
  }
}
