import FoundationEssentials

/// Verifies AWS Signature Version 4 (header form), as AWS's services do.
enum SignatureV4 {
  /// A service, and its own way to say what is wrong with a signature.
  struct Service: Sendable {
    /// A status and a code of an error.
    typealias Code = (status: Int, code: String)

    /// In the scope of a signature.
    let name: String
    /// Minutes that the signer's clock may be off.
    let tolerance: Int
    let missing: Code
    let incomplete: Code
    let invalid: Code
    let unknownKey: Code
    let expiredKey: Code
    /// Of a clock that is wrong.
    let skewed: Code
    /// Whether the hash of the body comes in a field of its own.
    var hasPayloadField = false

    static let cognitoIdentity = Service(
      name: "cognito-identity", tolerance: 5,
      missing: (400, "MissingAuthenticationTokenException"),
      incomplete: (400, "IncompleteSignatureException"),
      invalid: (400, "InvalidSignatureException"),
      unknownKey: (400, "UnrecognizedClientException"),
      expiredKey: (400, "ExpiredTokenException"), skewed: (400, "InvalidSignatureException"))

    static let sts = Service(
      name: "sts", tolerance: 15, missing: (403, "MissingAuthenticationToken"),
      incomplete: (400, "IncompleteSignature"), invalid: (403, "SignatureDoesNotMatch"),
      unknownKey: (403, "InvalidClientTokenId"), expiredKey: (403, "ExpiredToken"),
      skewed: (403, "SignatureDoesNotMatch"))

    static let s3 = Service(
      name: "s3", tolerance: 15, missing: (403, "AccessDenied"),
      incomplete: (400, "AuthorizationHeaderMalformed"),
      invalid: (403, "SignatureDoesNotMatch"), unknownKey: (403, "InvalidAccessKeyId"),
      expiredKey: (400, "ExpiredToken"), skewed: (403, "RequestTimeTooSkewed"),
      hasPayloadField: true)

    func fault(_ code: KeyPath<Service, Code>, _ message: String) -> ServiceError {
      ServiceError(status: self[keyPath: code].status, self[keyPath: code].code, message)
    }
  }

  /// The access key and the region of a signature.
  struct Signer: Equatable {
    var accessKeyID: String
    var region: String

    /// The pool's region must be the one that was signed for.
    func require(regionOf pool: String) throws(ServiceError) {
      guard pool.hasPrefix(region + ":") else {
        throw Service.cognitoIdentity.fault(
          \.invalid, "Credential should be scoped to a valid region.")
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

  /// - Parameter secret: the secret of an access key; nil for an unknown one.
  static func verify(
    _ request: HTTPRequest, for service: Service, at now: Date, secret: (String) -> String?
  ) throws(ServiceError) -> Signer {
    let authorization = try authorization(of: request, for: service)
    guard let secret = secret(authorization.accessKeyID) else {
      throw service.fault(
        \.unknownKey, "The security token included in the request is invalid.")
    }
    let time = try time(of: request, scope: authorization.scope, for: service, at: now)
    try requireSigned(authorization.signedHeaders, in: request, for: service)
    let canonical = try canonicalRequest(
      request, signedHeaders: authorization.signedHeaders, for: service)
    let scope = authorization.scope.joined(separator: "/")
    let hash = hexadecimal(Cryptography.sha256(canonical))
    let message = "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(hash)"
    var key = Array(("AWS4" + secret).utf8)
    for part in authorization.scope { key = hmac(part, key) }
    guard Cryptography.areEqual(hexadecimal(hmac(message, key)), authorization.signature) else {
      throw service.fault(
        \.invalid,
        "The request signature we calculated does not match the signature you provided. Check your "
          + "AWS Secret Access Key and signing method. Consult the service documentation for "
          + "details.")
    }
    return Signer(accessKeyID: authorization.accessKeyID, region: authorization.scope[1])
  }

  /// The service that a request was signed for; nil without a signature.
  static func service(of request: HTTPRequest) -> String? {
    guard let field = request.header("Authorization"),
      let start = field.firstRange(of: "Credential=")
    else { return nil }
    let scope = field[start.upperBound...].prefix { $0 != "," && $0 != " " }.split(separator: "/")
    return scope.count == 5 ? String(scope[3]) : nil
  }

  private static func authorization(
    of request: HTTPRequest, for service: Service
  ) throws(ServiceError) -> Authorization {
    guard let field = request.header("Authorization"), !field.isEmpty else {
      throw service.fault(\.missing, "Missing Authentication Token")
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
      throw service.fault(
        \.incomplete, "Authorization header requires '\(name)' parameter.")
    }
    let credential = (parts["Credential"] ?? "").split(separator: "/").map(String.init)
    guard credential.count == 5, credential[4] == "aws4_request" else {
      throw service.fault(
        \.incomplete, "Credential must have exactly 5 slash-delimited elements.")
    }
    guard credential[3] == service.name else {
      throw service.fault(
        \.invalid, "Credential should be scoped to correct service: '\(service.name)'.")
    }
    return Authorization(
      accessKeyID: credential[0], scope: Array(credential.dropFirst()),
      signedHeaders: (parts["SignedHeaders"] ?? "").split(separator: ";").map(String.init),
      signature: parts["Signature"] ?? "")
  }

  /// `X-Amz-Date`, once it was found to be of this hour and of the scope's day.
  private static func time(
    of request: HTTPRequest, scope: [String], for service: Service, at now: Date
  ) throws(ServiceError) -> String {
    guard let text = request.header("X-Amz-Date"), let date = Date(basicISO8601Text: text) else {
      throw service.fault(
        \.incomplete,
        "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")
    }
    guard text.hasPrefix(scope[0]) else {
      throw service.fault(
        \.invalid,
        "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date.")
    }
    let present = now.basicISO8601Text
    let minutes = service.tolerance
    let earliest = now.addingTimeInterval(Double(-60 * minutes))
    let latest = now.addingTimeInterval(Double(60 * minutes))
    guard date >= earliest else {
      throw service.fault(
        \.skewed,
        "Signature expired: \(text) is now earlier than \(earliest.basicISO8601Text) "
          + "(\(present) - \(minutes) min.)")
    }
    guard date <= latest else {
      throw service.fault(
        \.skewed,
        "Signature not yet current: \(text) is still later than \(latest.basicISO8601Text) "
          + "(\(present) + \(minutes) min.)")
    }
    return text
  }

  /// Host and every `x-amz-` field that was sent must be signed.
  private static func requireSigned(
    _ signed: [String], in request: HTTPRequest, for service: Service
  ) throws(ServiceError) {
    let sent = request.headers.map { $0.name.lowercased() }
    for name in ["host"] + sent.filter({ $0.hasPrefix("x-amz-") }) where !signed.contains(name) {
      throw service.fault(
        \.invalid, "'\(name)' must be a 'SignedHeader' in the AWS Authorization.")
    }
  }

  private static func canonicalRequest(
    _ request: HTTPRequest, signedHeaders: [String], for service: Service
  ) throws(ServiceError) -> [UInt8] {
    var lines = [request.method, request.path, canonicalQuery(request.query)]
    for name in signedHeaders {
      let values = request.headers.filter { $0.name.lowercased() == name }.map { field in
        field.value.split(separator: " ").joined(separator: " ")
      }
      guard !values.isEmpty else {
        throw service.fault(\.invalid, "Signed header '\(name)' is missing.")
      }
      lines.append(name + ":" + values.joined(separator: ","))
    }
    lines += ["", signedHeaders.joined(separator: ";")]
    lines.append(try payload(of: request, for: service))
    return Array(lines.joined(separator: "\n").utf8)
  }

  /// The hash of the body. S3 has it in a field, which may say that the body is not signed.
  private static func payload(
    of request: HTTPRequest, for service: Service
  ) throws(ServiceError) -> String {
    let hash = hexadecimal(Cryptography.sha256(request.body))
    guard service.hasPayloadField else { return hash }
    guard let field = request.header("x-amz-content-sha256") else {
      throw ServiceError("InvalidRequest", "Missing required header: x-amz-content-sha256")
    }
    guard field == hash || field == "UNSIGNED-PAYLOAD" else {
      throw ServiceError(
        "XAmzContentSHA256Mismatch",
        "The provided 'x-amz-content-sha256' header does not match what was computed.")
    }
    return field
  }

  /// The parameters by their names, then by their values.
  private static func canonicalQuery(_ query: String) -> String {
    let pairs = query.split(separator: "&").map { pair in
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return (name: String(parts[0]), value: parts.count > 1 ? String(parts[1]) : "")
    }
    return pairs.sorted { ($0.name, $0.value) < ($1.name, $1.value) }
      .map { $0.name + "=" + $0.value }.joined(separator: "&")
  }

  private static func hmac(_ message: String, _ key: [UInt8]) -> [UInt8] {
    Cryptography.hmacSHA256(key: key, message: Array(message.utf8))
  }
}
