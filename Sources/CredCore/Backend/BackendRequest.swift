/// What all calls to a backend over HTTP have in common.
enum BackendRequest {
  static func make(
    _ method: HTTPRequest.Method, _ url: String, headers: [HTTPHeader], bearer: Secret?,
    json: Secret?
  ) throws(InvalidInput) -> HTTPRequest {
    var request = HTTPRequest(method: method, url: url)
    request.set("Accept", to: Secret("application/json"))
    if let json {
      request.set("Content-Type", to: Secret("application/json"))
      request.body = json
    }
    for header in headers { request.set(header.name, to: header.value) }
    if let bearer { try request.authorize(bearer: bearer) }
    return request
  }
}

extension HTTPRequest {
  /// One header of a name, the last one set: a configured one replaces ours, a bearer token all.
  fileprivate mutating func set(_ name: String, to value: Secret) {
    let lower = name.lowercased()
    headers.removeAll { $0.name.lowercased() == lower }
    headers.append(HTTPHeader(name, value))
  }

  /// `Authorization: Bearer`. A token file ends in a line break more often than not, so white
  /// space around the token is taken off; within, it is an error.
  fileprivate mutating func authorize(bearer: Secret) throws(InvalidInput) {
    let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
    var token = bearer.bytes.drop(while: isSpace)
    while let last = token.last, isSpace(last) { token.removeLast() }
    guard !token.isEmpty, token.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw InvalidInput(field: "bearer token", reason: "is empty or not printable ASCII")
    }
    set("Authorization", to: Secret(Array("Bearer ".utf8) + token))
  }
}

extension HTTPReply {
  /// What the backend says about an error: the `message` of a JSON body, or the first line of a
  /// plain one. Nil for a web page, and where it repeats a secret that it was sent.
  func explanation(hiding secrets: [Secret]) -> String? {
    guard !looksLikeHTML, body.count <= Limits.backendReplyBytes else { return nil }
    let object = try? JSONValue.parse(body.bytes)
    let fields = ["message", "Message", "error_description", "error", "Error"]
    let said = fields.lazy.compactMap { object?[$0]?.secret }.first
    if object != nil, said == nil { return nil }
    let line = said?.bytes[...] ?? body.bytes.prefix { $0 != 0x0A && $0 != 0x0D }
    let head = line.prefix(4096)
    guard !secrets.contains(where: { !$0.isEmpty && head.holds($0.bytes) }) else { return nil }
    return RemoteText.clean(head)
  }
}
