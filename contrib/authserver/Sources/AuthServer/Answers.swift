import AuthCore
import AuthStore
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore

extension HTTPField.Name {
  /// The host's token beside a user's.
  static let hostAuthorization = HTTPField.Name("Credd-Host-Authorization")
}

extension Response {
  /// Secrets stand in answers: nobody keeps them.
  init(_ status: Int, json members: [String: String], _ more: HTTPFields = [:]) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let body = (try? encoder.encode(members)) ?? Data("{}".utf8)
    self.init(status, type: "application/json", Array(body), more)
  }

  init(_ status: Int, type: String, _ body: [UInt8], _ more: HTTPFields = [:]) {
    var headers = more
    headers[.contentType] = type
    headers[.cacheControl] = "no-store"
    headers[.xContentTypeOptions] = "nosniff"
    self.init(
      status: HTTPResponse.Status(code: status), headers: headers,
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
  }

  init(_ refusal: Refusal) {
    var headers = HTTPFields()
    if let seconds = refusal.retryAfter { headers[.retryAfter] = String(seconds) }
    if refusal.status == 401 { headers[.wwwAuthenticate] = "Bearer" }
    self.init(
      refusal.status,
      json: ["Code": refusal.code, "Message": refusal.message, "message": refusal.message], headers)
  }
}

extension Request {
  /// The one value of a field.
  func single(_ name: HTTPField.Name) throws(Refusal) -> String? {
    let values = headers[values: name]
    guard values.count <= 1 else {
      throw Refusal(400, "InvalidRequest", "\(name.canonicalName) stands twice")
    }
    return values.first
  }

  private func bearer(_ name: HTTPField.Name) throws(Refusal) -> String? {
    guard let value = try single(name) else { return nil }
    let parts = value.split(separator: " ")
    guard parts.count == 2, parts[0].lowercased() == "bearer" else {
      throw Refusal(401, "HostNotAuthorized", "\(name.canonicalName) is not 'Bearer TOKEN'")
    }
    return String(parts[1])
  }

  /// Who the host is, and the sign-in beside it. `Authorization` is the host's, unless the host's
  /// own token stands in its own field, or a client certificate says who the host is.
  func credentials(
    on connection: Connection
  ) async throws -> (proof: HostProof?, session: String?) {
    guard await connection.isPrivate else {
      throw Refusal(
        403, "TLSRequired", "tokens are taken over TLS, on loopback or on a Unix socket only")
    }
    let authorization = try bearer(.authorization)
    if let name = HTTPField.Name.hostAuthorization, let host = try bearer(name) {
      return (Ticket(host, .host).map { .ticket($0) }, authorization)
    }
    if let authorization, let ticket = Ticket(authorization, .host) {
      return (.ticket(ticket), nil)
    }
    let name = await connection.certificateName
    return (name.map { .certificate(name: $0) }, authorization)
  }

  func bytes(upTo limit: Int) async throws -> [UInt8] {
    do {
      return Array(try await body.collect(upTo: limit).readableBytesView)
    } catch is NIOTooManyBytesError {
      throw Refusal(413, "RequestTooLarge", "the body is longer than \(limit) bytes")
    }
  }

  /// Reads a body that is one JSON object.
  func json<T: Decodable>(_ type: T.Type, upTo limit: Int) async throws -> T {
    let media = try single(.contentType)?.prefix { $0 != ";" }.lowercased()
    guard media == "application/json" else {
      throw Refusal(415, "InvalidRequest", "the body must be application/json")
    }
    let bytes = try await bytes(upTo: limit)
    do {
      return try JSONDecoder().decode(type, from: Data(bytes))
    } catch DecodingError.keyNotFound(let key, _) {
      throw Refusal(400, "InvalidRequest", "\(key.stringValue) is missing")
    } catch DecodingError.typeMismatch(_, let context) {
      let place = context.codingPath.map(\.stringValue).joined(separator: ".")
      throw Refusal(
        400, "InvalidRequest",
        place.isEmpty ? "the body is not an object" : "\(place) is of the wrong type")
    } catch DecodingError.valueNotFound(_, let context) {
      let place = context.codingPath.map(\.stringValue).joined(separator: ".")
      throw Refusal(400, "InvalidRequest", "\(place) must not be null")
    } catch {
      throw Refusal(400, "InvalidRequest", "the body is not valid JSON in UTF-8")
    }
  }
}
