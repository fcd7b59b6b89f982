import FoundationEssentials

/// The authentication server of Amazon's developer-authentication sample, under `/sample/`.
enum SampleServer {
  static let prefix = "/sample/"

  /// `registeruser`, `login` or `gettoken`.
  static func operation(of request: HTTPRequest) -> String? {
    guard request.path.hasPrefix(prefix) else { return nil }
    let name = String(request.path.dropFirst(prefix.count))
    return ["registeruser", "login", "gettoken"].contains(name) ? name : nil
  }

  static func reply(
    to request: HTTPRequest, in state: inout SandboxState, fault: Fault.Kind?, at now: Date
  ) -> HTTPReply {
    do throws(ServiceError) {
      guard ["GET", "POST"].contains(request.method) else {
        throw ServiceError(status: 405, "MethodNotAllowed", "Method not allowed")
      }
      let call = SampleCall(request)
      let text =
        switch operation(of: request) {
        case "registeruser": try state.register(call)
        case "login": try state.login(call, at: now)
        default: try state.getToken(call, fault: fault, at: now)
        }
      return plain(200, text)
    } catch {
      return reply(with: error)
    }
  }

  static func reply(with error: ServiceError) -> HTTPReply { plain(error.status, error.message) }

  private static func plain(_ status: Int, _ text: String) -> HTTPReply {
    HTTPReply(
      status: status, headers: [HTTPField("Content-Type", "text/plain; charset=UTF-8")],
      body: Array((text + "\n").utf8))
  }
}

/// The parameters of one call, and the name under which the server was called.
struct SampleCall {
  let parameters: FormParameters
  /// Lower case, no port.
  let host: String

  init(_ request: HTTPRequest) {
    parameters = FormParameters(of: request)
    let name = (request.header("Host") ?? "localhost").lowercased()
    host =
      name.hasPrefix("[")
      ? String(name.prefix { $0 != "]" }) + "]" : String(name.prefix { $0 != ":" })
  }

  func required(_ name: String) throws(ServiceError) -> String {
    guard let value = parameters[name], !value.isEmpty else {
      throw ServiceError(status: 400, "MissingParameter", "Missing parameter: \(name)")
    }
    return value
  }

  /// A timestamp of the last or next quarter of an hour.
  func timestamp(at now: Date) throws(ServiceError) -> String {
    let text = try required("timestamp")
    guard let date = Date(iso8601Text: text),
      abs(date.timeIntervalSince(now)) <= SampleProtocol.tolerance
    else { throw SampleCall.unauthorized("Invalid timestamp") }
    return text
  }

  /// `provider1`, `token1`, `provider2`, … in order.
  var logins: [(provider: String, token: String)] {
    var logins: [(provider: String, token: String)] = []
    // Cognito takes ten logins.
    for index in 1...10 {
      guard let provider = parameters["provider\(index)"], let token = parameters["token\(index)"]
      else { break }
      logins.append((provider, token))
    }
    return logins
  }

  static func unauthorized(_ message: String) -> ServiceError {
    ServiceError(status: 401, "Unauthorized", message)
  }
}
