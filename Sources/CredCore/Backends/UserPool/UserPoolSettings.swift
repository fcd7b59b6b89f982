/// A backend of type `user-pool`: an app client of a Cognito user pool.
public struct UserPoolSettings: Sendable, Equatable {
  /// How a sign-in begins.
  public enum AuthFlow: String, Sendable, CaseIterable {
    /// USER_SRP_AUTH: the password never leaves this host.
    case srp
    /// USER_PASSWORD_AUTH.
    case password
    /// CUSTOM_AUTH: the pool's own triggers ask.
    case custom
    /// CUSTOM_AUTH after a proof of the password.
    case customSRP = "custom-srp"
    /// USER_AUTH: the user chooses.
    case choice
  }

  /// Whether the pool remembers this host as the user's device, where it asks.
  public enum DeviceMemory: String, Sendable, CaseIterable {
    case no
    case yes
    /// The user decides at the sign-in.
    case ask
  }

  /// `REGION_NAME`; its region is that of the requests.
  public var userPoolID = ""
  public var clientID = ""
  /// Nil for a public client.
  public var clientSecretFile: String?
  public var authFlow = AuthFlow.srp
  public var rememberDevice = DeviceMemory.no
  /// The actions of `account` that are done.
  public var accountActions = Self.standardAccountActions
  /// What a user may do to the own account without a word of the operator.
  public static let standardAccountActions: [AccountAction] = [
    .get, .changePassword, .devices, .rememberDevice, .forgetDevice,
  ]
  /// Whether clients may send `client_metadata` and `validation_data`, which the pool's triggers get.
  public var takesClientMetadata = false
  /// The key in the logins map, in place of the documented one.
  public var providerName: String?
  /// In place of AWS's own.
  public var endpoint: HTTPURL?
  /// Of the pool's Hosted UI; nil where users sign in without a browser.
  public var domain: HTTPURL?
  /// For a sign-in by browser.
  public var browser = BrowserSettings()
  /// PEM file of certificate authorities, in place of the system's.
  public var caFile: String?
  /// Whether http:// to another host is allowed.
  public var allowPlainHTTP = false

  public init() {}
}

/// What `token` may hand out to programs.
public enum VendedToken: String, Sendable, CaseIterable {
  case id
  case access
  /// Beside `access`: also an access token that may change the user's account.
  case account

  /// Nil for a word that is about tokens of another one.
  var kind: TokenKind? {
    switch self {
    case .id: .id
    case .access: .access
    case .account: nil
    }
  }
}

extension ValueSyntax<String> {
  static var userPoolID: ValueSyntax {
    .text("a user pool's id, such as eu-west-1_AbCdEf123") { (try? UserPoolID($0)) != nil }
  }

  static var clientID: ValueSyntax {
    .text(UserPoolInput.clientIDForm, where: UserPoolInput.isClientID)
  }
}

extension ValueSyntax {
  /// Words of a fixed list, each at most once.
  static func words<Word>() -> ValueSyntax
  where
    Value == [Word], Word: CaseIterable & RawRepresentable & Sendable & Hashable,
    Word.RawValue == String
  {
    let known = Word.allCases.map(\.rawValue)
    let list = known.joined(separator: ", ")
    return ValueSyntax("a list of \(list), or none") { value throws(InvalidValue) in
      let words = try value.words(separatedByCommas: true)
      if words == ["none"] { return [] }
      var chosen: [Word] = []
      for word in words {
        guard let choice = Word(rawValue: word) else {
          throw InvalidValue(
            "\(word.singleQuoted) is not known"
              + NearestName.suggestion(word, in: known, otherwise: "; known are \(list)"))
        }
        guard !chosen.contains(choice) else {
          throw InvalidValue("\(word.singleQuoted) occurs twice")
        }
        chosen.append(choice)
      }
      return chosen
    }
  }
}
