/// The members of responses: what is nil is left out.
extension JSONWriter {
  mutating func field(_ name: String, _ value: String?) {
    guard let value else { return }
    key(name)
    string(value)
  }

  mutating func field(_ name: String, _ value: Secret) {
    key(name)
    string(value)
  }

  mutating func field(_ name: String, _ value: Int64?) {
    guard let value else { return }
    key(name)
    integer(value)
  }

  mutating func field(_ name: String, _ value: IdentityID?) {
    field(name, value?.description)
  }

  mutating func field(_ name: String, _ value: WallTime?) {
    field(name, value?.iso8601)
  }

  mutating func field(_ name: String, object members: (inout JSONWriter) -> Void) {
    key(name)
    beginObject()
    members(&self)
    endObject()
  }

  /// `"Error":{"Code":…,"Message":…,"RetryAfter":…}`.
  mutating func field(_ name: String, _ error: ProtocolError) {
    field(name) { writer in
      writer.field("Code", error.code.rawValue)
      writer.field("Message", error.message)
      writer.field("RetryAfter", error.retryAfter?.secondsRoundedUp)
    }
  }
}

extension Duration {
  /// Whole seconds, never fewer than there are and never negative.
  fileprivate var secondsRoundedUp: Int64 {
    let (seconds, attoseconds) = components
    return max(0, attoseconds > 0 ? seconds + 1 : seconds)
  }
}
