/// A request's operation (the `op` of a line). ``OperationName`` has a row for each.
public enum Operation: Sendable, Equatable {
  /// Credentials, in the credential_process format.
  case get(GetRequest)
  /// The developer token itself.
  case token(TokenRequest)
  /// State and IdentityId, without any upstream call.
  case identity(profile: String)
  case login(LoginRequest)
  /// An answer to a question of a sign-in.
  case respond(RespondRequest)
  /// The user's account at the backend.
  case account(AccountRequest)
  case logout(LogoutRequest)
  case clear(profile: String, ClearScope)
  /// Requests that wait for a sign-in fail at once.
  case release(profile: String)
  case status(StatusRequest)
  /// - Parameter profile: nil for all profiles of the caller.
  case watch(profile: String?)
  /// The address of the HTTP endpoint, and a token for it.
  case endpoint(profile: String)
  case metrics
  /// - Parameter profile: nil for all profiles.
  case check(profile: String?)
  case ping
}

extension Operation {
  /// The value of `op`.
  public var name: String { kind.rawValue }

  /// Whether the request's line held no secret and so may be cached.
  public var isFreeOfSecrets: Bool { !kind.row.holdsSecret }

  /// Whether it may do something at a backend or provider that a client does not make undone by asking
  /// again: use up a code, send a message, count a wrong password or end a session.
  public var actsUpstream: Bool { kind.row.actsUpstream }

  private var kind: OperationName {
    switch self {
    case .get: .get
    case .token: .token
    case .identity: .identity
    case .login: .login
    case .respond: .respond
    case .account: .account
    case .logout: .logout
    case .clear: .clear
    case .release: .release
    case .status: .status
    case .watch: .watch
    case .endpoint: .endpoint
    case .metrics: .metrics
    case .check: .check
    case .ping: .ping
    }
  }

  init(_ object: RequestObject) throws(ProtocolError) {
    self = try object.operation().row.read(object)
  }
}

/// The values of `op`.
enum OperationName: String, CaseIterable {
  case get, token, identity, login, respond, account, logout, clear, release, status, watch
  case endpoint, metrics, check, ping

  struct Row: Sendable {
    /// The operation's keys, in addition to ``OperationName/keysOfEvery``.
    let keys: [String]
    let holdsSecret: Bool
    /// See ``Operation/actsUpstream``.
    let actsUpstream: Bool
    let read: @Sendable (RequestObject) throws(ProtocolError) -> Operation

    init(
      _ keys: [String], holdsSecret: Bool = false, actsUpstream: Bool = false,
      _ read: @escaping @Sendable (RequestObject) throws(ProtocolError) -> Operation
    ) {
      self.keys = keys
      self.holdsSecret = holdsSecret
      self.actsUpstream = actsUpstream
      self.read = read
    }
  }

  static let keysOfEvery = ["op", "id", "purpose"]

  private static let rows = Dictionary(uniqueKeysWithValues: allCases.map { ($0, $0.makeRow()) })

  var row: Row { Self.rows[self] ?? makeRow() }

  private func makeRow() -> Row {
    switch self {
    case .get:
      Row(["profile", "min_ttl", "refresh", "wait", "user"]) { object throws(ProtocolError) in
        .get(try GetRequest(object))
      }
    case .token:
      Row(["profile", "min_ttl", "refresh", "wait", "kind"]) { object throws(ProtocolError) in
        .token(try TokenRequest(object))
      }
    case .identity:
      Row(["profile"]) { object throws(ProtocolError) in
        .identity(profile: try object.profile())
      }
    case .login:
      Row(
        [
          "profile", "username", "password", "identity_id", "token", "logins", "alone",
          "custom_role_arn", "client_metadata", "validation_data", "browser", "device",
        ], holdsSecret: true, actsUpstream: true
      ) { object throws(ProtocolError) in
        .login(try LoginRequest(object))
      }
    case .respond:
      Row(
        ["handle", "answers", "wait", "cancel", "client_metadata"], holdsSecret: true,
        actsUpstream: true
      ) { object throws(ProtocolError) in
        .respond(try RespondRequest(object))
      }
    case .account:
      Row(
        ["profile", "action"] + AccountAction.keys, holdsSecret: true, actsUpstream: true
      ) { object throws(ProtocolError) in
        .account(try AccountRequest(object))
      }
    case .logout:
      Row(["profile", "global", "revoke", "sso"], actsUpstream: true) {
        object throws(ProtocolError) in
        .logout(try LogoutRequest(object))
      }
    case .clear:
      Row(["profile", "what"]) { object throws(ProtocolError) in
        .clear(profile: try object.profile(), try ClearScope(object))
      }
    case .release:
      Row(["profile"]) { object throws(ProtocolError) in
        .release(profile: try object.profile())
      }
    case .status:
      Row(["all", "profiles", "limit", "after"]) { object throws(ProtocolError) in
        .status(try StatusRequest(object))
      }
    case .watch:
      Row(["profile"]) { object throws(ProtocolError) in
        .watch(profile: object["profile"] == nil ? nil : try object.profile())
      }
    case .endpoint:
      Row(["profile"]) { object throws(ProtocolError) in
        .endpoint(profile: try object.profile())
      }
    case .metrics:
      Row([]) { _ in
        .metrics
      }
    case .check:
      Row(["profile", "all"], actsUpstream: true) { object throws(ProtocolError) in
        .check(profile: try object.profileToCheck())
      }
    case .ping:
      Row([]) { _ in
        .ping
      }
    }
  }
}

extension AccountAction {
  /// The keys of all actions. The action's own check decides which of them it takes.
  fileprivate static let keys = Set(allCases.flatMap(\.keys)).sorted()
}

extension RequestObject {
  /// The profile of a `check`; nil for all profiles.
  fileprivate func profileToCheck() throws(ProtocolError) -> String? {
    let name = try profile()
    let isForAll = try flag("all")
    guard !isForAll || self["profile"] == nil else {
      throw .invalid(#""all" and "profile" exclude each other"#)
    }
    return isForAll ? nil : name
  }
}
