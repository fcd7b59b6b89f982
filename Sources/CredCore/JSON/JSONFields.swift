/// Reading an answer that must be one JSON object.
enum JSONReply {
  /// - Throws: a malformed reply where it is too large, no JSON or no object.
  static func object(
    _ body: Secret, limit: Int, limits: JSONLimits = .standard, from upstream: Upstream
  ) throws(UpstreamFailure) -> JSONValue {
    guard body.count <= limit else { throw .transport(.tooLarge, from: upstream) }
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue.parse(body.bytes, limits: limits)
    } catch {
      // The parser's message may quote what it met, so only the place is passed on.
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

/// Runs checks of a reply; what they find is a malformed reply of that upstream.
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
  /// A member that must be a string with something in it.
  func requiredSecret(_ name: String) throws(InvalidInput) -> Secret {
    guard let value = self[name] else { throw InvalidInput(field: name, reason: "is missing") }
    guard let secret = value.secret, !secret.isEmpty else {
      throw InvalidInput(field: name, reason: "is empty or no string")
    }
    return secret
  }

  /// The same for what is not secret.
  func requiredText(_ name: String) throws(InvalidInput) -> String {
    guard let text = try requiredSecret(name).exposedText() else {
      throw InvalidInput(field: name, reason: "is not UTF-8")
    }
    return text
  }
}
