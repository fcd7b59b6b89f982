/// AWS Signature Version 4 for a POST with a body (AWS General Reference, "Signing AWS API
/// requests").
public struct SigV4: Sendable, Equatable {
  public let accessKeyID: String
  public let secretAccessKey: Secret
  /// Nil for long-lived keys.
  public let sessionToken: Secret?

  public init(accessKeyID: String, secretAccessKey: Secret, sessionToken: Secret? = nil) {
    self.accessKeyID = accessKeyID
    self.secretAccessKey = secretAccessKey
    self.sessionToken = sessionToken
  }

  /// The request with `X-Amz-Date`, `Authorization` and, for temporary keys,
  /// `X-Amz-Security-Token`.
  ///
  /// All headers and `Host` are signed.
  ///
  /// - Throws: if the URL has a query (no call of credd has one), or if the credentials cannot be
  ///   sent in a header.
  public func sign(
    _ request: HTTPRequest, for host: AWSHost, digests: some Digests, now: WallTime
  ) throws(InvalidInput) -> HTTPRequest {
    guard let url = try? HTTPURL(request.url), url.query == nil else {
      throw InvalidInput(field: "URL", reason: "cannot be signed")
    }
    let stamp = Timestamp(now)
    var signed = request
    signed.headers.append(HTTPHeader("X-Amz-Date", stamp.dateTime))
    if let sessionToken {
      signed.headers.append(
        try HTTPHeader(checkingName: "X-Amz-Security-Token", value: sessionToken))
    }
    let (canonical, names) = Self.canonical(signed, url, digests)
    let scope = "\(stamp.date)/\(host.region)/\(host.service.rawValue)/aws4_request"
    let toSign =
      Array("AWS4-HMAC-SHA256\n\(stamp.dateTime)\n\(scope)\n".utf8)
      + Hex.encode(digests.sha256(canonical))
    let key = signingKey(scope, digests)
    let signature = Hex.encode(digests.hmacSHA256(key: key, message: toSign))
    let authorization =
      "AWS4-HMAC-SHA256 Credential=\(accessKeyID)/\(scope), SignedHeaders=\(names), Signature="
      + String(decoding: signature, as: UTF8.self)
    signed.headers.append(
      try HTTPHeader(checkingName: "Authorization", value: Secret(authorization)))
    return signed
  }

  /// The canonical request, which both sides hash, with the names of the signed headers.
  private static func canonical(
    _ request: HTTPRequest, _ url: HTTPURL, _ digests: some Digests
  ) -> (bytes: [UInt8], names: String) {
    var headers = request.headers.map { (name: $0.name.lowercased(), value: $0.value) }
    headers.append((name: "host", value: Secret(url.authority)))
    headers.sort { $0.name < $1.name }
    let names = headers.map(\.name).joined(separator: ";")
    var bytes = Array("\(request.method.rawValue)\n\(url.path)\n\n".utf8)
    for header in headers {
      bytes += Array(header.name.utf8) + [UInt8(ascii: ":")] + header.value.bytes
      bytes.append(UInt8(ascii: "\n"))
    }
    bytes += Array("\n\(names)\n".utf8) + Hex.encode(digests.sha256(request.body.bytes))
    return (bytes, names)
  }

  /// The key derived from the secret key and the scope's parts, one after the other.
  private func signingKey(_ scope: String, _ digests: some Digests) -> [UInt8] {
    var key = Array("AWS4".utf8) + secretAccessKey.bytes
    for part in scope.split(separator: "/") {
      key = digests.hmacSHA256(key: key, message: Array(part.utf8))
    }
    return key
  }

  /// `20260102` and `20260102T030405Z`.
  private struct Timestamp {
    let date: String
    let dateTime: String

    init(_ time: WallTime) {
      let basic = time.iso8601.filter { $0 != "-" && $0 != ":" }
      date = String(basic.prefix { $0 != "T" })
      dateTime = basic
    }
  }
}
