extension Secret {
  /// Whether it begins as gzip does (RFC 1952, 2.3.1).
  var isCompressed: Bool { bytes.starts(with: [0x1F, 0x8B]) }
}

extension InvalidInput {
  static let compressedReply = InvalidInput(
    field: "the reply",
    reason: "is compressed by gzip, for which credd does not ask: switch that off for credd at the "
      + "server or the proxy before it")
}

/// Runs checks of a reply; an error of theirs becomes a malformed reply of that upstream.
func checked<Value>(
  _ upstream: Upstream, _ body: () throws(InvalidInput) -> Value
) throws(UpstreamFailure) -> Value {
  do throws(InvalidInput) {
    return try body()
  } catch {
    throw .malformed(error, from: upstream)
  }
}

extension JSONValue? {
  /// The text of a token, a code or the like; nil where there is none.
  ///
  /// - Parameter allows: its bytes.
  func token(
    _ name: String, upTo most: Int, where allows: (UInt8) -> Bool = { _ in true }
  ) throws(InvalidInput) -> Secret? {
    guard let value = self, value != .null else { return nil }
    guard let token = value.secret else { throw InvalidInput(field: name, reason: "is no text") }
    if let flaw = token.bytes.flaw(upTo: most, where: allows) {
      throw InvalidInput(field: name, reason: flaw)
    }
    return token
  }
}

extension Collection<UInt8> {
  /// Why they are no token of at most so many bytes; nil if they are.
  func flaw(upTo most: Int, where allows: (UInt8) -> Bool) -> String? {
    if isEmpty { return "is empty" }
    if count > most { return "is longer than \(most) bytes" }
    return allSatisfy(allows) ? nil : "has a character that is not printable ASCII"
  }
}

extension JSONValue {
  /// The value of a member that must be a non-empty string.
  func requiredSecret(_ name: String) throws(InvalidInput) -> Secret {
    guard let value = self[name] else { throw InvalidInput(field: name, reason: "is missing") }
    guard let secret = value.secret, !secret.isEmpty else {
      throw InvalidInput(field: name, reason: "is empty or no string")
    }
    return secret
  }

  /// Like ``requiredSecret(_:)``, for a text that is no secret.
  func requiredText(_ name: String) throws(InvalidInput) -> String {
    guard let text = try requiredSecret(name).exposedText() else {
      throw InvalidInput(field: name, reason: "is not UTF-8")
    }
    return text
  }
}
