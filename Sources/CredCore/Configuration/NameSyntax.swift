extension ValueSyntax<String> {
  /// The name of a profile or a backend.
  static var sectionName: ValueSyntax {
    text(
      "a name of 1 to \(Limits.Configuration.profileNameLength) letters, digits, '.', '_' and '-'",
      where: \.isProfileName)
  }

  static var accountName: ValueSyntax {
    text("a user's or group's name", where: \.isAccountName)
  }

  /// See ``IdentityPoolID``.
  static var identityPoolID: ValueSyntax {
    text("an identity pool id (REGION:UUID)", where: { (try? IdentityPoolID($0)) != nil }) {
      guard (try? UserPoolID($0)) != nil else { return nil }
      return ", but a user pool's: that is 'user_pool_id' of a [backend NAME] of type user-pool"
    }
  }

  /// `[\w._-]+`, at most 128 characters (Cognito API reference, DeveloperProviderName).
  static var developerProvider: ValueSyntax {
    text(
      "a developer provider's name (letters, digits, '.', '_', '-')", where: \.isDeveloperProvider)
  }

  /// A key of the logins map: 1 to 128 characters (Cognito API reference, GetId).
  static var loginsKey: ValueSyntax {
    text("a login provider of 1 to \(Limits.Upstream.providerLength) characters") {
      $0.count <= Limits.Upstream.providerLength && $0.utf8.allSatisfy(\.isVisible)
    }
  }

  /// A role's ARN, 20 to 2048 characters (STS API reference, AssumeRoleWithWebIdentity).
  static var roleARN: ValueSyntax {
    text("a role's ARN (arn:aws:iam::ACCOUNT:role/NAME)") { $0.isARN(of: "role/") }
  }

  static var accountID: ValueSyntax {
    text("an AWS account's 12 digits", where: \.isAccountID)
  }

  /// The sample server hashes the name in lower case, so only that spelling is accepted.
  static var appName: ValueSyntax {
    text("an app's name in lower case") {
      $0.containsOnlyLettersDigits(or: "._-") && $0 == $0.lowercased()
    }
  }
}

extension StringProtocol {
  var isAccountID: Bool { utf8.count == 12 && utf8.allSatisfy(\.isDigit) }
}

extension String {
  /// Whether this can name a profile or a backend: `[A-Za-z0-9._-]{1,64}`.
  public var isProfileName: Bool {
    (1...Limits.Configuration.profileNameLength).contains(utf8.count)
      && containsOnlyLettersDigits(or: "._-")
  }

  /// `[\w._-]+`, at most 128 characters (Cognito API reference, DeveloperProviderName).
  var isDeveloperProvider: Bool {
    (1...Limits.Upstream.providerLength).contains(utf8.count)
      && containsOnlyLettersDigits(or: "._-")
  }

  /// Whether every character is allowed in a role session's name (STS API reference,
  /// AssumeRoleWithWebIdentity: `[\w+=,.@-]`).
  var isRoleSessionText: Bool { containsOnlyLettersDigits(or: "_+=,.@-") }

  /// Such a text of the length that STS takes.
  var isRoleSessionName: Bool {
    Limits.Upstream.roleSessionNameLength.contains(utf8.count) && isRoleSessionText
  }

  /// Directories have names with spaces and backslashes, so both are allowed. A colon would end the
  /// name in every user database.
  var isAccountName: Bool {
    (1...Limits.Configuration.accountNameBytes).contains(utf8.count)
      && !utf8.contains(UInt8(ascii: ":"))
  }

  /// Whether this is a unit's name or a pattern for one: it ends in a unit type or a wildcard.
  var isUnitPattern: Bool {
    let parts = split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count <= 2 else { return false }
    return parts.allSatisfy { String($0).isUnitNamePattern }
  }

  private var isUnitNamePattern: Bool {
    guard utf8.count <= 255, containsOnlyLettersDigits(or: #":_.\@-*?[]!"#), let last = utf8.last
    else { return false }
    return "*?]".utf8.contains(last)
      || [".service", ".scope", ".slice", ".socket", ".mount", ".swap"].contains {
        hasSuffix($0) && utf8.count > $0.utf8.count
      }
  }

  /// Whether this is `arn:aws…:iam::ACCOUNT:` followed by `resource`. The account of a policy may
  /// also be `aws`, that of AWS's managed policies.
  func isARN(of resource: String) -> Bool {
    let fields = split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false)
    guard Limits.Upstream.roleARNLength.contains(utf8.count), fields.count == 6 else {
      return false
    }
    return fields[0] == "arn" && fields[1].hasPrefix("aws")
      && fields[1].utf8.allSatisfy { $0.isLowercase || $0 == UInt8(ascii: "-") }
      && fields[2] == "iam" && fields[3].isEmpty
      && (fields[4].isAccountID || (fields[4] == "aws" && resource == "policy/"))
      && fields[5].hasPrefix(resource) && fields[5].utf8.count > resource.utf8.count
      && fields[5].containsOnlyLettersDigits(or: "+=,.@_/-")
  }

  /// Whether this is a header's name: `token` of RFC 9110 §5.6.2.
  var isHeaderName: Bool {
    !isEmpty && containsOnlyLettersDigits(or: "!#$%&'*+-.^_`|~")
  }
}
