import FoundationEssentials

/// Verifies AWS Signature Version 4 (header form), as Cognito does.
enum SignatureV4 {
  static let service = "cognito-identity"
  /// How far the signer's clock may be off, in seconds.
  static let tolerance = 300.0

  /// The access key and the region of a signature.
  struct Signer: Equatable {
    var accessKeyID: String
    var region: String

    /// The pool's region must equal the region of the signature.
    func require(regionOf pool: String) throws(ServiceError) {
      guard pool.hasPrefix(region + ":") else {
        throw SignatureV4.invalid("Credential should be scoped to a valid region.")
      }
    }
  }

  /// The parts of the Authorization field.
  private struct Authorization {
    var accessKeyID: String
    /// date, region, service, `aws4_request`.
    var scope: [String]
    var signedHeaders: [String]
    var signature: String
  }

  static func verify(
    _ request: HTTPRequest, keys: [String: String], at now: Date
  ) throws(ServiceError) -> Signer {
    let authorization = try authorization(of: request)
    guard let secret = keys[authorization.accessKeyID] else {
      throw ServiceError(
        "UnrecognizedClientException", "The security token included in the request is invalid.")
    }
    let time = try time(of: request, scope: authorization.scope, at: now)
    try requireSigned(authorization.signedHeaders, in: request)
    let canonical = try canonicalRequest(request, signedHeaders: authorization.signedHeaders)
    let scope = authorization.scope.joined(separator: "/")
    let hash = hexadecimal(Cryptography.sha256(canonical))
    let message = "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(hash)"
    var key = Array(("AWS4" + secret).utf8)
    for part in authorization.scope { key = hmac(part, key) }
    guard Cryptography.areEqual(hexadecimal(hmac(message, key)), authorization.signature) else {
      throw invalid(
        "The request signature we calculated does not match the signature you provided. Check your "
          + "AWS Secret Access Key and signing method. Consult the service documentation for "
          + "details.")
    }
    return Signer(accessKeyID: authorization.accessKeyID, region: authorization.scope[1])
  }

  private static func authorization(of request: HTTPRequest) throws(ServiceError) -> Authorization {
    guard let field = request.header("Authorization"), !field.isEmpty else {
      throw ServiceError("MissingAuthenticationTokenException", "Missing Authentication Token")
    }
    let algorithm = "AWS4-HMAC-SHA256 "
    var parts: [String: String] = [:]
    if field.hasPrefix(algorithm) {
      for part in field.dropFirst(algorithm.count).split(separator: ",") {
        let pair = part.split(separator: "=", maxSplits: 1)
        guard pair.count == 2 else { continue }
        parts[pair[0].filter { $0 != " " }] = pair[1].filter { $0 != " " }
      }
    }
    for name in ["Credential", "SignedHeaders", "Signature"] where parts[name] == nil {
      throw ServiceError(
        "IncompleteSignatureException", "Authorization header requires '\(name)' parameter.")
    }
    let credential = (parts["Credential"] ?? "").split(separator: "/").map(String.init)
    guard credential.count == 5, credential[4] == "aws4_request" else {
      throw ServiceError(
        "IncompleteSignatureException", "Credential must have exactly 5 slash-delimited elements.")
    }
    guard credential[3] == service else {
      throw invalid("Credential should be scoped to correct service: '\(service)'.")
    }
    return Authorization(
      accessKeyID: credential[0], scope: Array(credential.dropFirst()),
      signedHeaders: (parts["SignedHeaders"] ?? "").split(separator: ";").map(String.init),
      signature: parts["Signature"] ?? "")
  }

  /// `X-Amz-Date`, after the check that it is near the present time and on the scope's day.
  private static func time(
    of request: HTTPRequest, scope: [String], at now: Date
  ) throws(ServiceError) -> String {
    guard let text = request.header("X-Amz-Date"), let date = Date(basicISO8601Text: text) else {
      throw ServiceError(
        "IncompleteSignatureException",
        "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")
    }
    guard text.hasPrefix(scope[0]) else {
      throw invalid(
        "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date.")
    }
    let present = now.basicISO8601Text
    let earliest = now.addingTimeInterval(-tolerance)
    let latest = now.addingTimeInterval(tolerance)
    guard date >= earliest else {
      throw invalid(
        "Signature expired: \(text) is now earlier than \(earliest.basicISO8601Text) "
          + "(\(present) - 5 min.)")
    }
    guard date <= latest else {
      throw invalid(
        "Signature not yet current: \(text) is still later than \(latest.basicISO8601Text) "
          + "(\(present) + 5 min.)")
    }
    return text
  }

  /// Host and every `x-amz-` field that was sent must be signed.
  private static func requireSigned(
    _ signed: [String], in request: HTTPRequest
  ) throws(ServiceError) {
    let sent = request.headers.map { $0.name.lowercased() }
    for name in ["host"] + sent.filter({ $0.hasPrefix("x-amz-") }) where !signed.contains(name) {
      throw invalid("'\(name)' must be a 'SignedHeader' in the AWS Authorization.")
    }
  }

  private static func canonicalRequest(
    _ request: HTTPRequest, signedHeaders: [String]
  ) throws(ServiceError) -> [UInt8] {
    var lines = [request.method, request.path, canonicalQuery(request.query)]
    for name in signedHeaders {
      let values = request.headers.filter { $0.name.lowercased() == name }.map { field in
        field.value.split(separator: " ").joined(separator: " ")
      }
      guard !values.isEmpty else { throw invalid("Signed header '\(name)' is missing.") }
      lines.append(name + ":" + values.joined(separator: ","))
    }
    lines += ["", signedHeaders.joined(separator: ";")]
    lines.append(hexadecimal(Cryptography.sha256(request.body)))
    return Array(lines.joined(separator: "\n").utf8)
  }

  private static func canonicalQuery(_ query: String) -> String {
    query.split(separator: "&").map { $0.contains("=") ? String($0) : $0 + "=" }.sorted()
      .joined(separator: "&")
  }

  private static func hmac(_ message: String, _ key: [UInt8]) -> [UInt8] {
    Cryptography.hmacSHA256(key: key, message: Array(message.utf8))
  }

  static func invalid(_ message: String) -> ServiceError {
    ServiceError("InvalidSignatureException", message)
  }
}
