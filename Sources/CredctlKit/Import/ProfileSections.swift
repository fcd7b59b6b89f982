internal import CredCore

/// The `[backend …]` and `[profile …]` sections for the pools of a mobile app.
public struct ProfileSections: Equatable, Sendable {
  /// The text, which credd can read unchanged. Its comments name keys that a person may add.
  public let text: String

  /// - Parameters:
  ///   - bytes: the content of the file.
  ///   - file: the file's name, for errors.
  ///   - name: the name of the profile; further pools append their names to it.
  /// - Throws: a ``Failure`` with ``Sysexit/usage`` for a wrong name, and with
  ///   ``Sysexit/dataError`` for a wrong file.
  public init(importing bytes: [UInt8], file: String, name: String?) throws(Failure) {
    if let name, !name.isProfileName {
      throw Failure(
        .usage,
        "option '--profile' takes 1 to \(Limits.Configuration.profileNameLength) letters, digits, '.', '_' and "
          + "'-', not \(name.quoted)")
    }
    guard bytes.count <= ImportLimits.fileBytes else {
      throw Failure(.dataError, "\(file): longer than \(ImportLimits.fileBytes) bytes")
    }
    // Editors on Windows write a byte-order mark, which belongs to no line.
    let bytes = Array(bytes.withoutByteOrderMark)
    let configuration: MobileConfiguration
    do {
      configuration = try MobileConfiguration(bytes)
    } catch {
      throw Failure(error, in: bytes, file: file)
    }
    var names = ProfileNames(wanted: name, count: configuration.pools.count)
    text = configuration.pools
      .map { Self.section(of: $0, named: names.next(for: $0.name), configuration.kind) }
      .joined(separator: "\n")
  }

  private static func section(
    of pool: MobileConfiguration.Pool, named name: String, _ kind: MobileConfiguration.Kind
  ) -> String {
    let origin = pool.name.map { ", CognitoIdentity \($0.quoted)" } ?? ""
    var lines: [String] = []
    var hasBackend = pool.users != nil
    if let users = pool.users {
      lines = backend(users, pool.browser, named: name, kind)
    } else if let browser = pool.browser, let provider = browser.provider,
      let client = browser.clientID
    {
      lines = browser.section(named: name, clientID: client, provider, kind)
      hasBackend = true
    }
    guard let id = pool.id else {
      return (lines + tokensAlone(named: name, kind)).joined(separator: "\n") + "\n"
    }
    lines += [
      "; The identity pool of \(kind.rawValue)\(origin).",
      "[profile \(name)]", "identity_pool_id = \(id)",
    ]
    if hasBackend {
      lines += ["backend = \(name)", guestLine(pool.allowsGuests)]
      lines += tokensBeside(pool.users != nil)
    } else {
      lines += [
        guestLine(pool.allowsGuests),
        "; For users whom the organisation's own backend vouches for: the name of the pool's",
        "; developer provider, and a [backend NAME] section.",
        "; developer_provider = login.example.app", "; backend = NAME",
      ]
    }
    for login in pool.logins {
      lines += [
        "; Users of \(login.title):",
        "; credctl login --profile \(name) --login \(login.provider)=@FILE",
      ]
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The tokens that an app would get of its user pool or provider (`getTokens`, `fetchAuthSession`). A
  /// program that has them has more than credentials, so an administrator decides.
  private static func tokensBeside(_ isUserPool: Bool) -> [String] {
    isUserPool
      ? [
        "; vend_tokens = id access account  ; where programs need the app's tokens; without the word",
        ";                                    account no access token that may change the account",
      ] : ["; vend_tokens = id access  ; where programs need the app's tokens"]
  }

  /// What users of such an app do with their accounts.
  private static func accountActions() -> [String] {
    let joining: [AccountAction] = [
      .signUp, .confirm, .resend, .forgotPassword, .resetPassword,
    ]
    let words = (joining + UserPoolSettings.standardAccountActions).map(\.rawValue)
    return [
      "; Users make their accounts here, too, as in the app. Further words, each a right of every program",
      "; of a user: set-attributes verify-attribute delete-attributes totp mfa sessions end-session delete",
      "account_actions = \(words.joined(separator: " "))",
    ]
  }

  /// The profile of users without an identity pool. If a user proves a password, a user pool gives
  /// an access token that may change the account. So this takes an explicit word.
  private static func tokensAlone(
    named name: String, _ kind: MobileConfiguration.Kind
  ) -> [String] {
    [
      "; \(kind.rawValue) names no identity pool: programs get tokens, and no AWS credentials:",
      "; credctl token --profile \(name)",
      "[profile \(name)]", "backend = \(name)", "vend_tokens = id",
      "; vend_tokens = id access account  ; where programs need access tokens, which may change the",
      ";                                    account in a user pool",
      "; flow = direct, with region and role_arn, gives AWS credentials without an identity pool.",
    ]
  }

  /// The section of the user pool. Its users sign in by `credctl login`.
  private static func backend(
    _ users: MobileConfiguration.UserPool, _ browser: MobileConfiguration.BrowserSignIn?,
    named name: String, _ kind: MobileConfiguration.Kind
  ) -> [String] {
    var lines = [
      "; The user pool of \(kind.rawValue): credctl login --profile \(name) --username NAME",
      "[backend \(name)]", "type = user-pool", "user_pool_id = \(users.id)",
      "client_id = \(users.clientID)",
    ]
    if users.hasSecret {
      lines += [
        "; The app client has a secret, which is not repeated here: put AppClientSecret into a file,",
        "; for systemd by LoadCredential=\(name)-client:FILE.",
        "client_secret_file = ${CREDENTIALS_DIRECTORY}/\(name)-client",
      ]
    }
    if let flow = users.authFlow { lines.append("auth_flow = \(flow.rawValue)") }
    if users.authFlow == .customSRP {
      lines.append("; auth_flow = custom  ; where the app signed in with any password at all")
    }
    if let browser { lines += hostedUI(browser, of: users) }
    return lines + accountActions() + [""]
  }

  /// The Hosted UI. If it has another app client, it becomes a comment, because a backend has only
  /// one client.
  private static func hostedUI(
    _ browser: MobileConfiguration.BrowserSignIn, of users: MobileConfiguration.UserPool
  ) -> [String] {
    if let client = browser.clientID, client != users.clientID {
      return [
        "; The Hosted UI at \(browser.domain) has another app client, \(client): its users need",
        "; a [backend NAME] of their own.",
      ]
    }
    return browser.hostedUILines
  }

  private static func guestLine(_ allowsGuests: Bool?) -> String {
    switch allowsGuests {
    case true?: "guest = yes"
    case false?: "guest = no"
    case nil: "; guest = yes  ; where the pool gives unauthenticated identities"
    }
  }
}

/// Gives each pool of a file another profile name.
struct ProfileNames {
  private let wanted: String?
  private let isOnly: Bool
  private var given: Set<String> = []

  init(wanted: String?, count: Int) {
    self.wanted = wanted
    isOnly = count == 1
  }

  /// The wanted name, or `default`, for a single pool and for the pool `Default`. For other pools,
  /// the pool's name is appended to the wanted name.
  mutating func next(for pool: String?) -> String {
    var name = wanted ?? ProfileName.default
    if let pool, !isOnly, pool != "Default" {
      name = [wanted, Self.wellFormed(pool)].compactMap { $0 }.joined(separator: "-")
    }
    return unused(String(name.prefix(Limits.Configuration.profileNameLength)))
  }

  private mutating func unused(_ name: String) -> String {
    var candidate = name
    var number = 2
    while !given.insert(candidate).inserted {
      let suffix = "-\(number)"
      candidate = name.prefix(Limits.Configuration.profileNameLength - suffix.utf8.count) + suffix
      number += 1
    }
    return candidate
  }

  /// Replaces characters that are not allowed in profile names with hyphens.
  private static func wellFormed(_ text: String) -> String {
    let name = String(
      text.unicodeScalars.map { String($0).isProfileName ? Character($0) : "-" })
    return name.isEmpty ? "pool" : name
  }
}
