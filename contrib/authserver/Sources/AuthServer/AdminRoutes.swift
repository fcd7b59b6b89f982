import AuthCore
import AuthStore
import struct CredCore.HTTPURL
import NIOHTTP1

/// The requests of the administrator's machines, on an address of their own.
struct AdminRoutes: Responder {
  let store: AuthStore
  let metrics: Metrics
  let faults: DatabaseFaults
  let now: @Sendable () -> Timestamp

  func respond(to request: Request) async -> Response {
    guard request.namesALiteralHost else {
      return Response(
        Refusal(
          421, "HostNotLiteral",
          "ask by the address itself, as in http://127.0.0.1:9464, or by localhost: an attacker can make "
            + "any other name lead here"))
    }
    guard request.method == .GET else {
      return Response(Refusal(405, "MethodNotAllowed", "this path takes GET"))
    }
    switch request.path {
    case "/metrics":
      return Response(
        200, type: "text/plain; version=0.0.4; charset=utf-8", Array(metrics.text.utf8))
    case "/readyz": return await readiness()
    case "/healthz": return Response(200, json: ["Status": "ok"])
    default: return Response(Refusal(404, "NotFound", "there is nothing at this path"))
    }
  }

  /// A newer server that came beside this one may have brought the schema further: it only adds to it.
  func readiness() async -> Response {
    do {
      let version = try await store.version()
      guard version >= AuthStore.schemaVersion else {
        return Response(
          Refusal(503, "SchemaOutdated", "the schema is version \(version)", retryAfter: 5))
      }
      try await store.checkWritable(now: now())
      faults.end()
      return Response(200, json: ["Status": "ready"])
    } catch {
      faults.note(error)
      return Response(Refusal(503, "DatabaseUnavailable", "\(error)", retryAfter: 5))
    }
  }
}

extension Request {
  /// A page in somebody's browser asks by a name, which its owner makes lead here (DNS rebinding). There
  /// is no browser on a Unix socket, and none that names no host.
  fileprivate var namesALiteralHost: Bool {
    guard connection.peer.address != nil, let host = headers.first(name: "host") else {
      return true
    }
    guard let name = (try? HTTPURL("http://" + host))?.host else { return false }
    return name == "localhost" || IPAddress(name) != nil
  }
}
