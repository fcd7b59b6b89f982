public import CredCore

/// Credentials as the environment variables from which AWS's tools and SDKs take them.
public struct CredentialVariables: Sendable {
  public struct Variable: Sendable, Equatable {
    public let name: String
    public let value: Secret
  }

  /// In the order in which they are printed.
  public let variables: [Variable]
  /// What must not stand beside them, see ``contradicting``.
  public let removed: [String]

  /// Variables that lead an SDK to other credentials than those in its environment.
  ///
  /// The SDK for JavaScript v3 prefers `AWS_PROFILE`, the one for .NET v3 the web identity. botocore
  /// reads `AWS_SECURITY_TOKEN`, the token's old name, before the present one, and
  /// `AWS_DEFAULT_PROFILE` like `AWS_PROFILE`. `AWS_ACCESS_KEY` and `AWS_SECRET_KEY` are old names of
  /// the keys. An account's id that came with other credentials leads to the wrong endpoints.
  static let contradicting = [
    "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SECURITY_TOKEN", "AWS_ACCESS_KEY", "AWS_SECRET_KEY",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
  ]

  private static let members = [
    ("AWS_ACCESS_KEY_ID", "AccessKeyId"), ("AWS_SECRET_ACCESS_KEY", "SecretAccessKey"),
    ("AWS_SESSION_TOKEN", "SessionToken"), ("AWS_CREDENTIAL_EXPIRATION", "Expiration"),
    (account, "AccountId"),
  ]
  private static let account = "AWS_ACCOUNT_ID"

  /// - Parameter reply: checked against ``ReplyShape/credentials``.
  /// - Throws: a ``Failure`` where a value is not printable ASCII without spaces, which all of AWS's
  ///   are: credd would not have sent it.
  public init(_ reply: JSONValue) throws(Failure) {
    var variables: [Variable] = []
    for (name, member) in Self.members {
      guard let value = reply[member]?.secret else { continue }
      guard !value.isEmpty, value.bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
        throw Failure(.unavailable, "the reply's \(member) is not printable ASCII")
      }
      variables.append(Variable(name: name, value: value))
    }
    self.variables = variables
    let hasAccount = variables.contains { $0.name == Self.account }
    removed = Self.contradicting + (hasAccount ? [] : [Self.account])
  }

  /// An environment with these variables in place of what it said of them.
  ///
  /// - Parameter environment: entries as execve(2) has them, `NAME=value` in any encoding.
  public func merged(into environment: [[UInt8]]) -> [[UInt8]] {
    let replaced = Set(variables.map { Array($0.name.utf8) } + removed.map { Array($0.utf8) })
    let kept = environment.filter { entry in
      !replaced.contains(Array(entry.prefix { $0 != UInt8(ascii: "=") }))
    }
    return kept
      + variables.map { variable in
        var entry = Array("\(variable.name)=".utf8)
        variable.value.append(to: &entry)
        return entry
      }
  }
}
