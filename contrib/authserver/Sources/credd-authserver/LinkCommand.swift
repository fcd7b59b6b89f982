import ArgumentParser
import AuthCore
import AuthServer
import AuthStore
import FoundationEssentials

struct LinkCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "link", abstract: "Users and their identities in Cognito.",
    subcommands: [List.self, Add.self, Remove.self, Merge.self])

  struct Target: ParsableArguments {
    @OptionGroup var common: Common
    @Option(help: "A pool of the configuration, where there is more than one.") var pool: String?

    func withCognito<T>(
      _ access: StoreAccess = .change,
      _ body: (any Cognito, AuthStore, AuthCore.Configuration.Pool) async throws -> T
    ) async throws -> T {
      try await common.withStore(access) { store, settings in
        let known = settings.pools.keys.sorted()
        guard let name = pool ?? (known.count == 1 ? known.first : nil) else {
          throw Failed("which pool? --pool \(known.joined(separator: ", "))", .usage)
        }
        guard let pool = settings.pools[name] else { throw Failed.unknownPool(name, settings) }
        let environment = ProcessInfo.processInfo.environment
        let http: HTTPClient
        do { http = try HTTPClient(calls: 1, environment: environment) } catch {
          throw Failed("\(error)", .unavailable)
        }
        defer { http.close() }
        let now: @Sendable () -> Timestamp = { .now }
        let cognito = CognitoClient(
          http: http, endpoint: settings.aws.cognitoEndpoint,
          credentials: AWSCredentials(
            .init(settings.aws, environment: environment), now: now),
          metrics: Metrics(), now: now)
        do {
          return try await body(cognito, store, pool)
        } catch let error as CognitoFailure {
          throw Failed("Cognito says \(error.description)", .unavailable)
        }
      }
    }

    /// The same, for a user who has an identity there.
    func withIdentity(
      of user: String, _ access: StoreAccess = .change,
      _ body: (String, any Cognito, AuthStore, AuthCore.Configuration.Pool) async throws -> Void
    ) async throws {
      try await withCognito(access) { cognito, store, pool in
        try await body(Self.identity(of: user, cognito, pool), cognito, store, pool)
      }
    }

    @discardableResult
    static func identity(
      of user: String, _ cognito: any Cognito, _ pool: AuthCore.Configuration.Pool
    ) async throws -> String {
      guard let id = try await cognito.identity(ofUser: user, pool: pool) else {
        throw Failed("\(user) has no identity in \(pool.name) yet")
      }
      return id
    }

    /// Keeps the identity that users have now, with an entry in the audit.
    func keep(
      _ identityID: String, of users: [String], _ pool: String, _ trail: AuditTrail,
      _ store: AuthStore
    ) async throws {
      let records = try users.map {
        IdentityRecord(pool: pool, user: try Identifier($0), identityID: identityID)
      }
      try await store.commit(records, notes: [trail.note], chain: trail.chain, now: .now)
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show a user's identity, its other users and its logins.")
    @OptionGroup var target: Target
    @Argument(help: "The user, as Cognito knows it.") var user: String

    func run() async throws {
      try await target.withIdentity(of: user, .read) { id, cognito, store, pool in
        let users = try await cognito.users(ofIdentity: id, pool: pool) ?? []
        let logins = try await cognito.logins(ofIdentity: id, pool: pool) ?? []
        let recorded = try await store.identities(of: user).first { $0.pool == pool.name }?.id
        let rows: [[Cell]] =
          users.map { [.text(id), .text(pool.developerProvider), .text($0)] }
          + logins.filter { $0 != pool.developerProvider }.map {
            [.text(id), .text($0), .absent("")]
          }
        try target.common.show(["identity", "provider", "user"], rows)
        if let recorded, recorded != id, !target.common.json {
          print("the server remembers \(recorded): the next token sets that right")
        }
      }
    }
  }

  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make an identity that there is the user's own.")
    @OptionGroup var target: Target
    @Argument(help: "The user, as Cognito knows it.") var user: String
    @Argument(help: "The IdentityId.") var identityID: String

    func run() async throws {
      guard CognitoSyntax.isID(identityID) else {
        throw Failed("\(identityID.visible) is no IdentityId", .usage)
      }
      // Before Cognito is asked to change anything.
      _ = try Identifier.read(user)
      try await target.withCognito { cognito, store, pool in
        let others = (try await cognito.users(ofIdentity: identityID, pool: pool) ?? [])
          .filter { !$0.utf8.elementsEqual(user.utf8) }.sorted().joined(separator: ", ")
        let token = try await cognito.token(
          pool: pool, user: user, logins: [:], identityID: identityID)
        var members = ["user": user, "identityId": token.identityID, "pool": pool.name]
        if !others.isEmpty { members["sharedWith"] = others }
        let trail = target.common.trail("linked", members)
        try await target.keep(token.identityID, of: [user], pool.name, trail, store)
        try target.common.say(
          "\(user) is linked to \(token.identityID)"
            + (others.isEmpty ? "" : ", which is also of \(others.visible)"), members)
      }
    }
  }

  struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Take a user off its identity; the next token makes a new one.")
    @OptionGroup var target: Target
    @Argument(help: "The user, as Cognito knows it.") var user: String

    func run() async throws {
      try await target.withIdentity(of: user) { id, cognito, store, pool in
        try await cognito.unlink(user, from: id, pool: pool)
        let members = ["user": user, "identityId": id, "pool": pool.name]
        let trail = target.common.trail("unlinked", members)
        try await store.forgetIdentity(of: user, pool: pool.name, trail: trail)
        try target.common.say("\(user) is no longer linked to \(id)", members)
      }
    }
  }

  struct Merge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make one identity of two; the first user's goes up in the second's.")
    @OptionGroup var target: Target
    @Argument(help: "The user whose identity goes.") var source: String
    @Argument(help: "The user whose identity stays.") var destination: String

    func run() async throws {
      for user in [source, destination] { _ = try Identifier.read(user) }
      guard !source.utf8.elementsEqual(destination.utf8) else {
        throw Failed("\(source.visible) cannot be merged with itself", .usage)
      }
      try await target.withCognito { cognito, store, pool in
        for user in [source, destination] {
          try await Target.identity(of: user, cognito, pool)
        }
        let id = try await cognito.merge(source, into: destination, pool: pool)
        let members = [
          "source": source, "destination": destination, "identityId": id, "pool": pool.name,
        ]
        let trail = target.common.trail("merged", members)
        try await target.keep(id, of: [source, destination], pool.name, trail, store)
        try target.common.say("\(source) and \(destination) share \(id)", members)
      }
    }
  }
}
