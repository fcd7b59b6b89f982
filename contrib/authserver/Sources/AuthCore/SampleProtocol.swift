import FoundationEssentials

/// The cryptography and the texts of the developer-authentication sample server's protocol. All
/// HMACs are HMAC-SHA256 over texts, in lower-case hexadecimal.
public struct SampleProtocol: Sendable, Equatable {
  /// Lower-case.
  public let appName: String
  /// The server's name as clients spell it, lower-case, without a port.
  public let host: String

  public static let defaultAppName = "awscognitodeveloperauthenticationsample"

  public init(appName: String = defaultAppName, host: String) {
    self.appName = appName.lowercased()
    self.host = host.lowercased()
  }

  public static func hmac(key: String, _ message: String) -> String {
    Hex.encode(Digest.hmacSHA256(key: Array(key.utf8), Array(message.utf8)))
  }

  /// What the server keeps of a password. To this protocol it is as good as the password.
  public func salted(username: String, password: String) -> String {
    Self.hmac(key: password, username + appName + host)
  }

  public static func loginSignature(salted: String, timestamp: String) -> String {
    hmac(key: salted, timestamp)
  }

  public static func tokenSignature(
    key: String, timestamp: String, logins: [(provider: String, token: String)],
    identityID: String?
  ) -> String {
    let parts = logins.map { $0.provider + $0.token }.joined()
    return hmac(key: key, timestamp + parts + (identityID ?? ""))
  }

  public static func loginReply(key: String) -> String { "{\t\"key\": \"\(key)\"}" }

  /// The members are syntax without quotes, so the sample's format needs no escapes. It has a comma
  /// before the brace, which its clients expect.
  public static func tokenReply(pool: String, identityID: String, token: String) -> String {
    "{\"identityPoolId\": \"\(pool)\", \"identityId\": \"\(identityID)\", \"token\": \"\(token)\",}"
  }

  /// `base64(IV ‖ AES-128-CBC)`; nil where the key is none.
  public static func encrypt(_ text: String, hexKey: String, iv: [UInt8]) -> String? {
    guard let key = Hex.decode(hexKey),
      let sealed = AES128.encrypt(Array(text.utf8), key: key, iv: iv)
    else { return nil }
    return Data(iv + sealed).base64EncodedString()
  }

  public static func isUsername(_ name: String) -> Bool {
    (3...128).contains(name.utf8.count)
      && name.utf8.allSatisfy { CognitoSyntax.isWord($0) || ".@".utf8.contains($0) }
  }

  /// A device's name: the clients make it at random.
  public static func isDevice(_ uid: String) -> Bool {
    (1...128).contains(uid.utf8.count)
      && uid.utf8.allSatisfy { CognitoSyntax.isWord($0) || ".-:".utf8.contains($0) }
  }

  public static func isTimely(_ timestamp: String, at now: Timestamp) -> Bool {
    guard let time = Timestamp(iso8601: timestamp) else { return false }
    return abs((now - time).milliseconds) <= Limits.sampleSkew.milliseconds
  }
}
