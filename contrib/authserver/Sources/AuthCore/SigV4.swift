public import FoundationEssentials

/// Developer credentials of AWS.
public struct AWSKeys: Sendable, Equatable {
  public var accessKeyID: String
  public var secretAccessKey: String
  public var sessionToken: String?
  public var expires: Timestamp?

  public init(
    accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil,
    expires: Timestamp? = nil
  ) {
    self.accessKeyID = accessKeyID
    self.secretAccessKey = secretAccessKey
    self.sessionToken = sessionToken
    self.expires = expires
  }
}

/// Where Cognito Identity answers for a region.
public enum CognitoEndpoint {
  public static func url(region: String) -> String {
    "https://cognito-identity.\(region).\(dnsSuffix(region))"
  }

  private static func dnsSuffix(_ region: String) -> String {
    if region.hasPrefix("cn-") { return "amazonaws.com.cn" }
    if region.hasPrefix("eusc-") { return "amazonaws.eu" }
    if region.hasPrefix("us-iso-") { return "c2s.ic.gov" }
    if region.hasPrefix("us-isob-") { return "sc2s.sgov.gov" }
    if region.hasPrefix("eu-isoe-") { return "cloud.adc-e.uk" }
    if region.hasPrefix("us-isof-") { return "csp.hci.ic.gov" }
    return "amazonaws.com"
  }

  /// The region in a pool's id.
  public static func region(ofPool id: String) -> String { String(id.prefix { $0 != ":" }) }
}

/// Signature Version 4 of a POST to `/` (AWS General Reference, "Signing AWS API requests").
public enum SigV4 {
  public static let contentType = "application/x-amz-json-1.1"

  /// All header fields of the request but `Host`, which the client sends itself.
  public static func headers(
    target: String, body: Data, host: String, region: String, keys: AWSKeys, at now: Timestamp
  ) -> [(name: String, value: String)] {
    let stamp = now.basicISO8601
    let scope = "\(stamp.prefix(8))/\(region)/cognito-identity/aws4_request"
    var headers = [
      (name: "content-type", value: contentType), (name: "x-amz-date", value: stamp),
      (name: "x-amz-target", value: target),
    ]
    if let token = keys.sessionToken {
      headers.append((name: "x-amz-security-token", value: token))
    }
    let signed = (headers + [(name: "host", value: host)]).sorted { $0.name < $1.name }
    let names = signed.map(\.name).joined(separator: ";")
    let lines = signed.map { "\($0.name):\($0.value)\n" }.joined()
    let canonical =
      "POST\n/\n\n\(lines)\n\(names)\n\(Hex.encode(Digest.sha256(Array(body))))"
    let hash = Hex.encode(Digest.sha256(canonical))
    var key = Array(("AWS4" + keys.secretAccessKey).utf8)
    for part in scope.split(separator: "/") { key = hmac(key, String(part)) }
    let signature = Hex.encode(hmac(key, "AWS4-HMAC-SHA256\n\(stamp)\n\(scope)\n\(hash)"))
    headers.append(
      (
        name: "authorization",
        value: "AWS4-HMAC-SHA256 Credential=\(keys.accessKeyID)/\(scope), "
          + "SignedHeaders=\(names), Signature=\(signature)"
      ))
    return headers
  }

  private static func hmac(_ key: [UInt8], _ message: String) -> [UInt8] {
    Digest.hmacSHA256(key: key, Array(message.utf8))
  }
}
