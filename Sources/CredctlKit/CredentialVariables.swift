public import CredCore

/// Credentials as the environment variables of AWS's tools and SDKs.
public struct CredentialVariables: Sendable {
  public struct Variable: Sendable, Equatable {
    public let name: String
    public let value: Secret
  }

  /// The variables, in the order in which they are printed.
  public let variables: [Variable]
  /// Names of variables that must not be set beside these, see ``contradicting``.
  public let removed: [String]

  /// Variables that lead an SDK to other credentials.
  ///
  /// The SDK for JavaScript v3 prefers `AWS_PROFILE`, the SDK for .NET v3 prefers the web identity.
  /// botocore reads `AWS_SECURITY_TOKEN`, the token's old name, before the present one, and
  /// `AWS_DEFAULT_PROFILE` like `AWS_PROFILE`. `AWS_ACCESS_KEY` and `AWS_SECRET_KEY` are old names of
  /// the keys. An account id that belongs to other credentials leads to wrong endpoints.
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

  /// SDKs read the first name; the AWS CLI version 1 and botocore read the second.
  private static let regionNames = ["AWS_REGION", "AWS_DEFAULT_REGION"]

  /// - Parameters:
  ///   - reply: a reply that was checked against ``ReplyShape/credentials``.
  ///   - region: the identity pool's region; nil if it is not known.
  ///   - environment: the user's environment. A region in it takes precedence.
  /// - Throws: a ``Failure`` if a value is not printable ASCII without spaces. All values of AWS
  ///   are so, and credd sends no others.
  public init(
    _ reply: JSONValue, region: String? = nil, environment: (String) -> String? = { _ in nil }
  ) throws(Failure) {
    var variables: [Variable] = []
    for (name, member) in Self.members {
      guard let value = reply[member]?.secret else { continue }
      guard !value.isEmpty, value.bytes.allSatisfy(\.isVisible) else {
        throw Failure(.unavailable, "the reply's \(member) is not printable ASCII")
      }
      variables.append(Variable(name: name, value: value))
    }
    variables += Self.regionVariables(region, environment)
    self.variables = variables
    let hasAccount = variables.contains { $0.name == Self.account }
    removed = Self.contradicting + (hasAccount ? [] : [Self.account])
  }

  /// Variables that lead SDKs to the endpoint, from which they renew their credentials.
  ///
  /// - Parameters:
  ///   - reply: a reply that was checked against ``ReplyShape/endpoint``.
  ///   - environment: the user's environment, for the hosts that need no proxy.
  /// - Throws: a ``Failure`` if a value is not printable ASCII without spaces.
  public init(
    endpoint reply: JSONValue, region: String? = nil, leavesOutConfig: Bool = false,
    environment: (String) -> String? = { _ in nil }
  ) throws(Failure) {
    guard let url = reply["Url"]?.text, let token = reply["Token"]?.secret else {
      throw Failure(.unavailable, "the reply's Url or Token is missing")
    }
    try self.init(
      url: url, token: token, region: region, leavesOutConfig: leavesOutConfig,
      environment: environment)
  }

  /// Variables that lead SDKs to credctl's own endpoint.
  public init(
    url: String, token: Secret, region: String?, leavesOutConfig: Bool = false,
    environment: (String) -> String? = { _ in nil }
  ) throws(Failure) {
    var variables: [Variable] = []
    let members = [
      ("AWS_CONTAINER_CREDENTIALS_FULL_URI", Secret(url)),
      ("AWS_CONTAINER_AUTHORIZATION_TOKEN", token),
    ]
    for (name, value) in members {
      guard !value.isEmpty, value.bytes.allSatisfy(\.isVisible) else {
        throw Failure(.unavailable, "the endpoint's URL or token is not printable ASCII")
      }
      variables.append(Variable(name: name, value: value))
    }
    // If there were no credentials, an SDK would next ask the instance's metadata service, and
    // wait.
    variables.append(Variable(name: "AWS_EC2_METADATA_DISABLED", value: Secret("true")))
    // SDKs would prefer keys in that file to the endpoint.
    variables.append(Variable(name: "AWS_SHARED_CREDENTIALS_FILE", value: Secret("/dev/null")))
    if leavesOutConfig {
      variables.append(Variable(name: "AWS_CONFIG_FILE", value: Secret("/dev/null")))
    }
    // Some clients would send the token to a proxy.
    for name in ["no_proxy", "NO_PROXY"] {
      variables.append(
        Variable(name: name, value: Secret(Self.withLoopback(environment(name) ?? ""))))
    }
    self.variables = variables + Self.regionVariables(region, environment)
    removed =
      Self.members.map { $0.0 }.filter { $0 != Self.account } + Self.contradicting
      + [
        "AWS_ROLE_ARN", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", Self.account,
      ]
  }

  private static func withLoopback(_ hosts: String) -> String {
    let loopback = "127.0.0.1"
    let known = hosts.split(separator: ",").map { word in word.filter { $0 != " " } }
    // If there are other hosts in the list, libcurl does not understand `*`.
    if known.contains(loopback) || known == ["*"] { return hosts }
    return known.isEmpty ? loopback : hosts + "," + loopback
  }

  /// If the user has set one of the variables, its region is used for both.
  private static func regionVariables(
    _ region: String?, _ environment: (String) -> String?
  ) -> [Variable] {
    regionNames.compactMap { name in
      let values = [environment(name)] + regionNames.map(environment) + [region]
      guard let value = values.compactMap(\.self).first(where: { !$0.isEmpty }),
        value.utf8.allSatisfy(\.isVisible)
      else { return nil }
      return Variable(name: name, value: Secret(value))
    }
  }

  /// Whether the user's environment has a region. Then credctl need not ask for the pool's region.
  public static func hasRegion(_ environment: (String) -> String?) -> Bool {
    regionNames.contains { environment($0)?.isEmpty == false }
  }

  /// The region of the identity in a reply to `identity`: an IdentityId begins with the region of
  /// its pool.
  public static func region(ofIdentity reply: JSONValue) -> String? {
    reply["IdentityId"]?.text.flatMap { try? IdentityID($0) }?.region
  }

  /// An environment in which these variables replace variables of the same name.
  ///
  /// - Parameter environment: entries as for execve(2), `NAME=value` in any encoding.
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

/// How `credctl env` writes ``CredentialVariables``.
public enum VariableFormat: String, CaseIterable, Sendable {
  /// For `eval` in a POSIX shell.
  case sh
  /// For `source` in fish.
  case fish
  /// For docker's `--env-file` and systemd's `EnvironmentFile=`.
  case dotenv
  /// A JSON object.
  case json

  /// The whole text with its last newline. It contains the secrets.
  ///
  /// - Throws: a ``Failure`` if readers of the format would disagree about a value.
  public func text(of variables: CredentialVariables) throws(Failure) -> [UInt8] {
    switch self {
    case .sh: shellText(of: variables)
    case .fish: fishText(of: variables)
    case .dotenv: try dotenvText(of: variables)
    case .json: jsonText(of: variables)
    }
  }

  private func shellText(of variables: CredentialVariables) -> [UInt8] {
    var text = Array("unset \(variables.removed.joined(separator: " "))\n".utf8)
    for variable in variables.variables {
      text += Array("export \(variable.name)='".utf8)
      for byte in variable.value.bytes {
        // A quote ends the quoted part, is written escaped, and then the next quoted part begins.
        if byte == UInt8(ascii: "'") { text += #"'\''"#.utf8 } else { text.append(byte) }
      }
      text += "'\n".utf8
    }
    return text
  }

  private func fishText(of variables: CredentialVariables) -> [UInt8] {
    // Only global variables: without -g, fish would erase a universal variable from all of the
    // user's shells.
    var text = Array("set -eg \(variables.removed.joined(separator: " "))\n".utf8)
    for variable in variables.variables {
      text += Array("set -gx \(variable.name) '".utf8)
      for byte in variable.value.bytes {
        let isEscaped = byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\\")
        if isEscaped { text.append(UInt8(ascii: "\\")) }
        text.append(byte)
      }
      text += "'\n".utf8
    }
    return text
  }

  /// Docker keeps quotes as part of the value, systemd removes them, and Compose expands `$`. Only
  /// a value that needs no quotes has the same meaning for all of them.
  private func dotenvText(of variables: CredentialVariables) throws(Failure) -> [UInt8] {
    var text: [UInt8] = []
    for variable in variables.variables {
      guard variable.value.bytes.allSatisfy(Self.isPlain) else {
        throw Failure(
          .unavailable,
          "\(variable.name) holds a character that readers of dotenv files disagree about: "
            + "use another '--format'")
      }
      text += Array("\(variable.name)=".utf8)
      variable.value.append(to: &text)
      text += "\n".utf8
    }
    return text
  }

  private func jsonText(of variables: CredentialVariables) -> [UInt8] {
    var writer = JSONWriter(capacity: 2048)
    writer.beginObject()
    for variable in variables.variables {
      writer.key(variable.name)
      writer.string(variable.value)
    }
    writer.endObject()
    writer.endLine()
    return writer.bytes
  }

  /// The bytes of Base64, base64url, times and numbers.
  private static func isPlain(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "+/=_-.:".utf8.contains(byte)
  }
}

/// Words in the syntax of a POSIX shell.
enum ShellWord {
  /// The word in single quotes if the shell would change it.
  static func quoted(_ word: String) -> String {
    guard word.isEmpty || !word.containsOnlyLettersDigits(or: "_-./@:") else { return word }
    return "'"
      + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#)
      + "'"
  }
}

extension Credentials {
  /// The credentials of a reply that was checked against ``ReplyShape/credentials``; nil if its
  /// `Expiration` is no time.
  public init?(reply: JSONValue) {
    guard let keyID = reply["AccessKeyId"]?.text, let key = reply["SecretAccessKey"]?.secret,
      let token = reply["SessionToken"]?.secret,
      let expiration = reply["Expiration"]?.text.flatMap({ WallTime(iso8601: $0) })
    else { return nil }
    self.init(
      accessKeyID: keyID, secretAccessKey: key, sessionToken: token, expiration: expiration,
      accountID: reply["AccountId"]?.text)
  }
}
