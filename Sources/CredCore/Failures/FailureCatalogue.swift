extension HTTPReply {
  /// A reply for every failure that the table knows of an upstream, for simulations: a new row is in
  /// it by itself.
  package static func failures(of upstream: Upstream) -> [HTTPReply] {
    let statuses =
      [301, 400, 403, 407, 429, 500, 502, 503, 511].map { HTTPReply(status: $0, body: Secret([])) }
    let unusable = ["<!DOCTYPE html><html></html>", "{}", "{\"IdentityId\":"].map {
      HTTPReply(status: 200, body: Secret($0))
    }
    let unknown = FailureTable.Row("NewException", .signInRequired, nil, .expected, "")
    let own: [HTTPReply] =
      switch upstream {
      case .cognitoIdentity:
        (FailureTable.cognito + FailureTable.anyService + [unknown]).map(json)
      case .sts: (FailureTable.sts + FailureTable.anyService + [unknown]).map(xml)
      case .backend:
        [401, 404, 408, 409].map { HTTPReply(status: $0, body: Secret([])) }
          + FailureTable.signature.map(json)
      }
    return statuses + unusable + own
  }

  /// The same of a user pool, asked for this.
  package static func failures(ofUserPool purpose: UserPoolPurpose) -> [HTTPReply] {
    let unknown = FailureTable.Row("NewException", .signInRequired, nil, .expected, "")
    let statuses = [301, 407, 429, 500, 503].map { HTTPReply(status: $0, body: Secret([])) }
    let rows = FailureTable.userPool(purpose) + FailureTable.anyService + [unknown]
    return statuses + rows.map(json) + [HTTPReply(status: 200, body: Secret("{}"))]
  }

  private static func json(_ row: FailureTable.Row) -> HTTPReply {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("__type", row.name)
    writer.field("message", row.saying)
    writer.endObject()
    return HTTPReply(status: 400, body: Secret(writer.bytes))
  }

  private static func xml(_ row: FailureTable.Row) -> HTTPReply {
    let error = "<Code>\(row.name)</Code><Message>\(row.saying)</Message>"
    return HTTPReply(
      status: 400, body: Secret("<ErrorResponse><Error>\(error)</Error></ErrorResponse>"))
  }
}
