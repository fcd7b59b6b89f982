/// Reads a reply that must be one JSON object.
enum JSONReply {
  /// - Throws: `.tooLarge` above `limit` bytes, a malformed reply if the body is no JSON object.
  static func object(
    _ body: Secret, limit: Int, limits: JSONLimits = .standard, from upstream: Upstream
  ) throws(UpstreamFailure) -> JSONValue {
    guard body.count <= limit else { throw .transport(.tooLarge, from: upstream) }
    guard !body.isCompressed else { throw .malformed(.compressedReply, from: upstream) }
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue.parse(foreign: body, limits: limits)
    } catch {
      // The parser's message may quote a key, so only the position is passed on.
      let problem = error.isOfDuplicateKey ? "has an object with a key twice," : "is no JSON"
      throw .malformed(
        InvalidInput(field: "the reply", reason: "\(problem) at byte \(error.offset)"),
        from: upstream)
    }
    guard case .object = value else {
      throw .malformed(InvalidInput(field: "the reply", reason: "is no object"), from: upstream)
    }
    return value
  }
}
