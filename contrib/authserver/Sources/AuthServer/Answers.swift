import AuthCore
import AuthStore
import NIOHTTP1

extension Response {
  /// Secrets stand in answers: nobody keeps them.
  init(_ status: Int, json members: [String: String], _ more: HTTPHeaders = [:]) {
    self.init(status, type: "application/json", JSONObject.text(members), more)
  }

  init(_ status: Int, type: String, _ body: [UInt8], _ more: HTTPHeaders = [:]) {
    var headers = more
    headers.add(name: "Content-Type", value: type)
    headers.add(name: "Cache-Control", value: "no-store")
    headers.add(name: "X-Content-Type-Options", value: "nosniff")
    self.init(status: status, headers: headers, body: body)
  }

  init(_ refusal: Refusal) {
    var headers = HTTPHeaders()
    if let seconds = refusal.retryAfter { headers.add(name: "Retry-After", value: "\(seconds)") }
    if refusal.status == 401 { headers.add(name: "WWW-Authenticate", value: "Bearer") }
    self.init(
      refusal.status,
      json: ["Code": refusal.code, "Message": refusal.message, "message": refusal.message], headers)
  }
}

extension Request {
  /// The one value of a field.
  func single(_ name: String) throws(Refusal) -> String? {
    let values = headers[name]
    guard values.count <= 1 else {
      throw Refusal(400, "InvalidRequest", "\(name) stands twice")
    }
    return values.first
  }

  private func bearer(_ name: String) throws(Refusal) -> String? {
    guard let value = try single(name) else { return nil }
    let parts = value.split(separator: " ")
    guard parts.count == 2, parts[0].lowercased() == "bearer" else {
      throw Refusal(401, "HostNotAuthorized", "\(name) is not 'Bearer TOKEN'")
    }
    return String(parts[1])
  }

  /// Who the host is, and the sign-in beside it. `Authorization` is the host's, unless the host's
  /// own token stands in its own field, or a client certificate says who the host is.
  func credentials() throws(Refusal) -> (proof: HostProof?, session: String?) {
    guard connection.isPrivate else {
      throw Refusal(
        403, "TLSRequired", "tokens are taken over TLS, on loopback or on a Unix socket only")
    }
    let authorization = try bearer("authorization")
    if let host = try bearer("credd-host-authorization") {
      return (Ticket(host, .host).map { .ticket($0) }, authorization)
    }
    if let authorization, let ticket = Ticket(authorization, .host) {
      return (.ticket(ticket), nil)
    }
    return (connection.certificate.map { .certificate($0) }, authorization)
  }

  /// Reads a body that is one JSON object.
  func json<T>(
    upTo limit: Int, _ read: (JSONObject) throws(JSONObject.Invalid) -> T
  ) async throws(Refusal) -> T {
    let media = try single("content-type")?.prefix { $0 != ";" }.lowercased()
    guard media == "application/json" else {
      throw Refusal(415, "InvalidRequest", "the body must be application/json")
    }
    let bytes = try await body.collect(upTo: limit)
    do throws(JSONObject.Invalid) {
      return try read(JSONObject(bytes))
    } catch {
      throw Refusal(400, "InvalidRequest", error.reason)
    }
  }
}
