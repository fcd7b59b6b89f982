extension Fault {
  /// Bytes of an oversized body: more than any limit of credd's.
  static let oversizedBody = 8 << 20

  /// The reply that stands in for the service's own; nil for kinds that let the service answer.
  func reply(to call: ServiceCall) -> HTTPReply? {
    var reply: HTTPReply
    switch kind {
    case .status:
      reply = statusReply(for: call)
    case .throttle:
      reply = errorReply(
        for: call, Fault.throttling(call.service, status: status, code: error, message: message))
    case .oversize:
      reply = HTTPReply(
        headers: [HTTPField("Content-Type", "application/json")],
        body: Array("{\"Padding\":\"".utf8)
          + [UInt8](repeating: UInt8(ascii: "x"), count: Fault.oversizedBody) + Array("\"}".utf8))
    case .malformed:
      reply = HTTPReply(
        headers: [HTTPField("Content-Type", "application/json")],
        body: Array((body ?? "{\"IdentityId\": <").utf8))
    case .html:
      let page = "<!DOCTYPE html><html><body><h1>Welcome to the network</h1></body></html>"
      reply = HTTPReply(
        status: status ?? 200, headers: [HTTPField("Content-Type", "text/html")],
        body: Array((body ?? page).utf8))
    case .redirect:
      reply = HTTPReply(
        status: status ?? 302, headers: [HTTPField("Location", location ?? "http://127.0.0.1:1/")])
    case .delay, .hang, .reset, .truncate, .dateSkew, .expiredToken, .changedIdentity, .wrongPool:
      return nil
    }
    if let retryAfter { reply.headers.append(HTTPField("Retry-After", retryAfter)) }
    return reply
  }

  private func statusReply(for call: ServiceCall) -> HTTPReply {
    if let error {
      let status = status ?? (error == "InternalErrorException" ? 500 : 400)
      return errorReply(
        for: call, ServiceError(status: status, error, message ?? "made by the sandbox"))
    }
    return HTTPReply(
      status: status ?? 500, headers: [HTTPField("Content-Type", "text/plain")],
      body: Array((body ?? "").utf8))
  }

  private func errorReply(for call: ServiceCall, _ error: ServiceError) -> HTTPReply {
    switch call.service {
    case .cognito: CognitoService.reply(with: error)
    case .sts:
      STSService.reply(with: error, requestID: "00000000-0000-4000-8000-000000000000")
    case .backend: TokenBackend.reply(with: error)
    case .sample: SampleServer.reply(with: error)
    }
  }

  private static func throttling(
    _ service: Service, status: Int?, code: String?, message: String?
  ) -> ServiceError {
    let text = message ?? "Rate exceeded"
    return switch service {
    case .cognito:
      ServiceError(status: status ?? 400, code ?? "TooManyRequestsException", text)
    case .sts: ServiceError(status: status ?? 400, code ?? "Throttling", text)
    case .backend, .sample: ServiceError(status: status ?? 429, code ?? "TooManyRequests", text)
    }
  }
}
