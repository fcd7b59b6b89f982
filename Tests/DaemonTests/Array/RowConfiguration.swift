import Foundation

@testable import DaemonHarness

/// The files of a row: credd's configuration, the sandbox's content, the host's users.
struct RowConfiguration {
  let row: ArrayRow
  let cast: RowCast
  let reading: RowExpectation
  /// `/bin/cat` under a name that the profile allows.
  let program: String
  /// The command of an exec backend, without the port.
  let script: String
  let keys: String
  /// The policy of the profile that is derived from the first one.
  let policy: String
  /// Whether impersonation also covers sessions that a person signed in to.
  let isEnoughSaid: Bool
  /// The path of the socket with a cap.
  let cappedPath: String

  /// What a reload changes.
  enum Change {
    case none
    /// The subject may not use the first profile any more.
    case withdrawn
    /// Nothing that makes the session another one.
    case unrelated
    /// Another profile beside the two.
    case added
    /// The profiles have each other's pools.
    case swapped
  }

  // MARK: credd

  func text(_ url: String, _ change: Change = .none) -> String {
    let pools = change == .swapped ? (cast.second, cast.first) : (cast.first, cast.second)
    var text = backend("one", pools.0, url) + backend("two", pools.1, url)
    text += profile(cast.first, pools.0, backend: "one", url, firstKeys(change, pools.0, url))
    // One backend for both profiles, unless its URL names the pool.
    let other = row.method == .get ? "two" : "one"
    text += profile(cast.second, pools.1, backend: other, url, "")
    text += less
    if change == .added {
      text += "[profile another]\nidentity_pool_id = \(cast.second.pool)\n"
    }
    text +=
      "[socket \(cappedPath)]\nprofiles = \(cast.first.profile)\noperations = get identity token\n"
    return text
  }

  private func backend(_ name: String, _ pool: RowCast.Place, _ url: String) -> String {
    let settings: String
    switch row.backend {
    case .none: return ""
    case .exec:
      settings = "type = exec\ncommand = \(script) \(url.split(separator: ":").last ?? "")"
    case .cognito:
      settings = "type = cognito\ncredentials_file = \(keys)\ncognito_endpoint = \(url)"
    case .sample: settings = "type = aws-sample\nurl = \(url)/sample"
    case .userPool:
      settings = """
        type = user-pool
        user_pool_id = \(cast.userPool.id)
        client_id = \(cast.userPool.client)
        auth_flow = \(cast.userPool.flow)
        user_pool_endpoint = \(url)
        """
    case .http: settings = http(pool, url)
    }
    return "[backend \(name)]\n\(settings)\ntimeout = 60s\n\n"
  }

  private func http(_ pool: RowCast.Place, _ url: String) -> String {
    let named = reading.urlName.map { "?for=\($0)" } ?? ""
    var keys = [
      "type = http", "method = \(row.method.rawValue)",
      row.method == .get
        ? "url = \(url)/token/\(reading.urlName ?? "")?pool=\(pool.pool)"
        : "url = \(url)/token\(named)",
    ]
    if row.login == .password {
      keys += ["login_url = \(url)/login\(named)", "logout_url = \(url)/logout\(named)"]
    }
    return keys.joined(separator: "\n")
  }

  private func profile(
    _ place: RowCast.Place, _ pool: RowCast.Place, backend: String, _ url: String, _ keys: String
  ) -> String {
    var lines = ["[profile \(place.profile)]"]
    if !reading.hasNoPool(place) {
      lines += [
        "identity_pool_id = \(pool.pool)", "cognito_endpoint = \(url)", "sts_endpoint = \(url)",
      ]
    }
    if row.backend != .none { lines.append("backend = \(backend)") }
    if row.backend != .none, row.backend != .userPool {
      lines += [
        "developer_provider = \(pool.provider)", "user_identifier = \(reading.identifier)",
      ]
    }
    return (lines + [keys]).joined(separator: "\n") + "\n\n"
  }

  private func firstKeys(_ change: Change, _ pool: RowCast.Place, _ url: String) -> String {
    var keys = accessKeys(change)
    switch row.flow {
    case .enhanced: break
    case .custom: keys.append("role_arn = \(pool.customRole)")
    case .tokens: keys.append("vend_tokens = id")
    case .direct:
      keys += [
        "flow = direct", "region = \(pool.pool.prefix { $0 != ":" })", "sts_endpoint = \(url)",
        "role_arn = \(pool.authenticatedRole)", "role_session_name = \(reading.sessionName)",
      ]
    case .basic:
      let isGuest = reading.proofAfterLogin(cast.first) == .guest
      keys += [
        "flow = basic", "role_arn = \(isGuest ? pool.guestRole : pool.authenticatedRole)",
        "role_session_name = \(reading.sessionName)",
      ]
    }
    if row.isGuestAllowed { keys.append("guest = yes") }
    if change == .unrelated { keys.append("forget_after = 11d") }
    return keys.joined(separator: "\n")
  }

  /// The keys of the access rule. Whom it admits is admitted under all names that the row gives.
  private func accessKeys(_ change: Change) -> [String] {
    let subject = row.caller == .unnamed ? "\(cast.subject.uid)" : cast.subject.name
    let users = "allow_users = \(subject) \(cast.successor.name) \(cast.bystander.name)"
    var keys =
      switch row.access {
      case .none: [String]()
      case .users: [users]
      case .groups: ["allow_groups = \(cast.group.name)"]
      case .units: ["allow_units = \(cast.unit)"]
      case .executables: ["allow_executables = \(program)"]
      case .impersonate:
        [
          users, "impersonate = \(cast.actor.name)",
          "impersonate_signed_in = \(isEnoughSaid ? "yes" : "no")",
        ]
      }
    if change == .withdrawn {
      keys.removeAll { !$0.hasPrefix("allow_executables") && !$0.hasPrefix("impersonate") }
      keys.append("allow_users = \(cast.bystander.name)")
    }
    return keys
  }

  // MARK: Less

  static let less = "less"

  /// What a key of the derived profile may do.
  static let policy =
    #"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"s3:GetObject","#
    + #""Resource":"arn:aws:s3:::less/{uid}/*"}}"#

  /// A profile that is derived from the first one, for the same people.
  private var less: String {
    if reading.givesTokens(cast.first) { return "" }
    var lines = [
      "[profile \(Self.less)]", "source_profile = \(cast.first.profile)", "policy_file = \(policy)",
    ]
    if row.access == .impersonate {
      lines += [
        "impersonate = \(cast.actor.name)",
        "impersonate_signed_in = \(isEnoughSaid ? "yes" : "no")",
      ]
    }
    if cast.coins[3] { lines.append("duration = 20m") }
    return lines.joined(separator: "\n") + "\n\n"
  }

  // MARK: The sandbox

  var seed: String {
    let places = [cast.first, cast.second]
    let pools = places.map { place in
      #"{"Id":"\#(place.pool)","DeveloperProvider":"\#(place.provider)","Unauthenticated":true,"#
        + #""AuthenticatedRole":"\#(place.authenticatedRole)","#
        + #""UnauthenticatedRole":"\#(place.guestRole)","#
        + #""CognitoIdentityProviders":[{"ProviderName":"\#(cast.userPool.provider)","#
        + #""ClientId":"\#(cast.userPool.client)"}],"#
        + #""Providers":{"\#(RowExpectation.publicProvider)":"client"}}"#
    }
    let roles = places.flatMap { place in
      [
        role(place.authenticatedRole, place, "true", "false"),
        role(place.guestRole, place, "false", "false"),
        role(place.customRole, place, "true", "true"),
      ]
    }
    let takesSession = row.backend == .http && row.login == .password
    let userPool =
      #"{"Id":"\#(cast.userPool.id)","Clients":[{"ClientId":"\#(cast.userPool.client)","#
      + #""ExplicitAuthFlows":["ALLOW_USER_SRP_AUTH","ALLOW_USER_PASSWORD_AUTH","#
      + #""ALLOW_USER_AUTH","ALLOW_REFRESH_TOKEN_AUTH"]}]}"#
    let providers = places.map { place in
      #"{"Url":"https://\#(cast.userPool.provider)","ClientIDList":["\#(cast.userPool.client)"],"#
        + #""Account":"\#(place.authenticatedRole.split(separator: ":")[3])"}"#
    }
    return #"{"Pools":[\#(pools.joined(separator: ","))],"AnyUser":true,"Users":[],"#
      + #""OpenIDConnectProviders":[\#(providers.joined(separator: ","))],"#
      + #""UserPools":[\#(userPool)],"#
      + #""RequireSession":\#(takesSession),"#
      + #""Roles":[\#(roles.joined(separator: ","))]}"#
  }

  private func role(
    _ arn: String, _ place: RowCast.Place, _ isAuthenticated: String, _ isCustom: String
  ) -> String {
    #"{"Arn":"\#(arn)","Pool":"\#(place.pool)","Authenticated":\#(isAuthenticated),"#
      + #""Custom":\#(isCustom),"OpenIDConnect":[{"Provider":"\#(cast.userPool.provider)","#
      + #""Audiences":["\#(cast.userPool.client)"]}]}"#
  }

  // MARK: The host's users

  /// Who has the subject's uid.
  enum Holder { case subject, nobody, successor }

  func users(_ holder: Holder) -> String {
    var people = [cast.bystander, cast.outsider, cast.actor]
    switch holder {
    case .subject where row.caller != .unnamed: people.append(cast.subject)
    case .successor: people.append(cast.successor)
    case .subject, .nobody: break
    }
    let lines = people.map { "\($0.name):x:\($0.uid):\($0.uid)::/:/bin/sh\n" }
    return "root:x:0:0::/root:/bin/sh\n" + lines.joined()
  }

  var groups: String {
    let members = [cast.subject, cast.successor, cast.bystander].map(\.name)
    return "root:x:0:\n\(cast.group.name):x:\(cast.group.gid):\(members.joined(separator: ","))\n"
  }
}
