extension ValueSyntax<String> {
  /// What profiles and backends are called.
  static var sectionName: ValueSyntax {
    text("a name of 1 to 64 letters, digits, '.', '_' and '-'", where: \.isSectionName)
  }

  static var accountName: ValueSyntax {
    text("a user's or group's name", where: \.isAccountName)
  }

  /// `[\w-]+:[0-9a-f-]+`, at most 55 characters (Cognito API reference, IdentityPoolId). The region
  /// becomes part of a host name, so it must be fit for that.
  static var identityPoolID: ValueSyntax {
    text("an identity pool id (REGION:UUID)") { id in
      let region = id.utf8.prefix { $0 != UInt8(ascii: ":") }
      let rest = id.utf8.dropFirst(region.count + 1)
      let dash = UInt8(ascii: "-")
      return id.utf8.count <= 55 && region.first?.isLowercase ?? false && region.last != dash
        && region.count <= 32
        && region.allSatisfy { $0.isLowercase || $0.isDigit || $0 == dash }
        && !rest.isEmpty
        && rest.allSatisfy { $0.isDigit || ($0.isHexDigit && $0.isLowercase) || $0 == dash }
    }
  }

  /// `[\w._-]+`, at most 128 characters (Cognito API reference, DeveloperProviderName).
  static var developerProvider: ValueSyntax {
    text("a developer provider's name (letters, digits, '.', '_', '-')") {
      (1...128).contains($0.utf8.count) && $0.holdsOnlyLettersDigits(or: "._-")
    }
  }

  /// A key of the logins map: 1 to 128 characters (Cognito API reference, GetId).
  static var loginsKey: ValueSyntax {
    text("a login provider of 1 to 128 characters") {
      $0.count <= 128 && $0.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
  }

  /// A role's ARN, 20 to 2048 characters (STS API reference, AssumeRoleWithWebIdentity).
  static var roleARN: ValueSyntax {
    text("a role's ARN (arn:aws:iam::ACCOUNT:role/NAME)") { $0.isARN(of: "role/") }
  }

  static var accountID: ValueSyntax {
    text("an AWS account's 12 digits", where: \.isAccountID)
  }

  /// The sample server lower-cases it before it hashes it, so only one spelling is accepted.
  static var appName: ValueSyntax {
    text("an app's name in lower case") {
      $0.holdsOnlyLettersDigits(or: "._-") && $0 == $0.lowercased()
    }
  }
}

extension StringProtocol {
  var isAccountID: Bool { utf8.count == 12 && utf8.allSatisfy(\.isDigit) }
}

extension String {
  var isSectionName: Bool {
    (1...64).contains(utf8.count) && holdsOnlyLettersDigits(or: "._-")
  }

  /// As liberal as directories are: they have names with spaces and backslashes. A colon would end
  /// the name in every user database.
  var isAccountName: Bool {
    (1...ConfigurationLimits.accountNameBytes).contains(utf8.count)
      && !utf8.contains(UInt8(ascii: ":"))
  }

  /// A unit's name, or a pattern that can match one: it ends in a type or in a wildcard.
  var isUnitPattern: Bool {
    let parts = split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count <= 2 else { return false }
    return parts.allSatisfy { String($0).isUnitNamePattern }
  }

  private var isUnitNamePattern: Bool {
    guard utf8.count <= 255, holdsOnlyLettersDigits(or: #":_.\@-*?[]!"#), let last = utf8.last
    else { return false }
    return "*?]".utf8.contains(last)
      || [".service", ".scope", ".slice", ".socket", ".mount", ".swap"].contains {
        hasSuffix($0) && utf8.count > $0.utf8.count
      }
  }

  /// `arn:aws…:iam::ACCOUNT:` and then `resource`, as AWS's managed policies too are written, whose
  /// account is `aws`.
  func isARN(of resource: String) -> Bool {
    let fields = split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false)
    guard (20...2048).contains(utf8.count), fields.count == 6 else { return false }
    return fields[0] == "arn" && fields[1].hasPrefix("aws")
      && fields[1].utf8.allSatisfy { $0.isLowercase || $0 == UInt8(ascii: "-") }
      && fields[2] == "iam" && fields[3].isEmpty
      && (fields[4].isAccountID || (fields[4] == "aws" && resource == "policy/"))
      && fields[5].hasPrefix(resource) && fields[5].utf8.count > resource.utf8.count
      && fields[5].holdsOnlyLettersDigits(or: "+=,.@_/-")
  }

  /// A header's name: `token` of RFC 9110 §5.6.2.
  var isHeaderName: Bool {
    !isEmpty && holdsOnlyLettersDigits(or: "!#$%&'*+-.^_`|~")
  }
}

/// What a profile may be called: `[A-Za-z0-9._-]{1,64}`.
public enum ProfileName {
  /// What a request means that names no profile.
  public static let `default` = "default"

  public static func isWellFormed(_ name: String) -> Bool {
    (1...Limits.profileNameLength).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
          UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }
}
