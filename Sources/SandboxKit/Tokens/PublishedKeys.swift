import CSandboxCrypto

/// The keys that providers outside the sandbox publish (RFC 7517). Cognito fetches them from the
/// issuer. The sandbox sends no requests, so it gets them by the control path.
struct PublishedKeys: Sendable {
  /// A public RSA key, the only kind with which Cognito verifies ID tokens.
  private struct Key: Sendable {
    let id: String?
    let modulus: [UInt8]
    let exponent: [UInt8]
  }

  /// The most keys of one provider, and the most providers.
  private static let most = 64

  private var keys: [String: [Key]] = [:]

  /// Whether the provider is one of these.
  func names(_ provider: String) -> Bool { keys[provider] != nil }

  /// `POST /control/provider-keys`: the provider's name and its document.
  mutating func set(_ reader: FieldReader) throws(ServiceError) -> JSON {
    var fields = reader
    let name = try fields.text("ProviderName")
    let entries = try fields.objects("keys") ?? []
    try fields.finish()
    guard entries.count <= Self.most, keys[name] != nil || keys.count < Self.most else {
      throw ServiceError("LimitExceeded", "too many keys")
    }
    var found: [Key] = []
    for entry in entries {
      var entry = entry
      // Keys of other kinds and for other uses are ignored.
      guard try entry.optionalText("kty") == "RSA", try entry.optionalText("use") ?? "sig" == "sig"
      else { continue }
      guard let modulus = base64URLDecoded(try entry.text("n")),
        let exponent = base64URLDecoded(try entry.text("e"))
      else { throw entry.fault("n", "is no base64url, or e is none") }
      found.append(Key(id: try entry.optionalText("kid"), modulus: modulus, exponent: exponent))
    }
    keys[name] = found
    return ["ProviderName": .string(name), "Keys": .number(Double(found.count))]
  }

  /// The claims of a token, if one of the provider's keys has signed it by RS256.
  func verifiedClaims(
    in token: String, of provider: String
  ) throws(TokenIssuer.Fault) -> JSON {
    let claims = try TokenIssuer.claims(in: token)
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard let headerBytes = base64URLDecoded(parts[0]), let header = JSON(parsing: headerBytes),
      let signature = base64URLDecoded(parts[2])
    else { throw .malformed }
    guard header["alg"]?.text == "RS256" else { throw .unverified }
    let id = header["kid"]?.text
    let message = Array((parts[0] + "." + parts[1]).utf8)
    let isVerified = (keys[provider] ?? []).contains { key in
      guard id == nil || key.id == nil || key.id == id else { return false }
      return unsafe csandbox_rsa_public_verifies(
        key.modulus, key.modulus.count, key.exponent, key.exponent.count, CSANDBOX_SHA256, message,
        message.count, signature, signature.count)
    }
    guard isVerified else { throw .unverified }
    return claims
  }
}
