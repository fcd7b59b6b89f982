/// Reads a reply that must be one JSON object.
enum JSONReply {
  /// - Throws: `.tooLarge` above `limit` bytes, a malformed reply if the body is no JSON object.
  static func object(
    _ body: Secret, limit: Int, limits: JSONLimits = .standard, from upstream: Upstream
  ) throws(UpstreamFailure) -> JSONValue {
    guard body.count <= limit else { throw .transport(.tooLarge, from: upstream) }
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue.parse(body.bytes, limits: limits)
    } catch {
      // The parser's message may quote a key, so only the position is passed on.
      throw .malformed(
        InvalidInput(field: "the reply", reason: "is no JSON at byte \(error.offset)"),
        from: upstream)
    }
    guard case .object = value else {
      throw .malformed(InvalidInput(field: "the reply", reason: "is no object"), from: upstream)
    }
    return value
  }
}

/// Runs checks of a reply. If they throw, the reply counts as malformed.
func checked<Value>(
  _ upstream: Upstream, _ body: () throws(InvalidInput) -> Value
) throws(UpstreamFailure) -> Value {
  do throws(InvalidInput) {
    return try body()
  } catch {
    throw .malformed(error, from: upstream)
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
