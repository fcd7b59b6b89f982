import AuthCore
import AuthStore
import struct CredCore.HostEnrolment
import Logging
import NIOHTTP1

/// The requests that clients make.
struct Routes: Responder {
  let tokens: TokenService
  let accounts: AccountService
  let sample: SampleService?
  let metrics: Metrics
  let log: Logger
  let faults: DatabaseFaults
  let now: @Sendable () -> Timestamp
  private let longBodies = Places(Limits.longBodies, each: Limits.longBodiesPerHost)
  private let registrations = Registrations()

  init(
    tokens: TokenService, accounts: AccountService, sample: SampleService?, metrics: Metrics,
    log: Logger, faults: DatabaseFaults, now: @escaping @Sendable () -> Timestamp
  ) {
    self.tokens = tokens
    self.accounts = accounts
    self.sample = sample
    self.metrics = metrics
    self.log = log
    self.faults = faults
    self.now = now
  }

  /// Paths, and the methods that they take.
  private static let methods: [String: [HTTPMethod]] = [
    "/v1/token": [.POST], "/v1/login": [.POST], "/v1/logout": [.POST], "/v1/register": [.POST],
    "/healthz": [.GET], "/openapi.json": [.GET],
  ]
  private static let samplePaths = ["/registeruser", "/login", "/gettoken"]

  func respond(to request: Request) async -> Response {
    let start = ContinuousClock.now
    var route = request.path
    let response: Response
    do {
      response = try await answer(request, &route)
    } catch {
      response = Response(refusal(error))
    }
    // Paths that are none come from outside: they get one label together.
    metrics.count(.requests, route, String(response.status))
    metrics.observe(.requestDuration, route, time: .now - start)
    return response
  }

  private func refusal(_ error: any Error) -> Refusal {
    switch error {
    case let refusal as Refusal: return refusal
    case let error as StoreError:
      faults.note(error)
      return .databaseAway
    case is CancellationError:
      return Refusal(503, "ShuttingDown", "the server is about to stop", retryAfter: 2)
    default:
      log.error("request failed", metadata: ["reason": "\(error)"])
      return Refusal(500, "Internal", "the server has made a mistake: its log says which")
    }
  }

  private func answer(
    _ request: Request, _ route: inout String
  ) async throws -> Response {
    if let sample, Self.samplePaths.contains(request.path) {
      return await answer(sample, request)
    }
    guard let methods = Self.methods[request.path] else {
      route = "other"
      throw Refusal(404, "NotFound", "there is nothing at this path")
    }
    guard methods.contains(request.method) else {
      let refusal = Refusal(405, "MethodNotAllowed", "this path takes another method")
      var response = Response(refusal)
      let allowed = methods.map(\.rawValue).joined(separator: ", ")
      response.headers.add(name: "Allow", value: allowed)
      return response
    }
    switch request.path {
    case "/v1/token": return try await token(request)
    case "/v1/login": return try await login(request)
    case "/v1/logout": return try await logout(request)
    case "/v1/register": return try await register(request)
    case "/healthz": return Response(200, json: ["Status": "ok"])
    default: return Response(200, type: "application/json", Array(OpenAPI.document.utf8))
    }
  }

  private struct TokenBody {
    let pool: String
    let provider: String
    let user: String
    let identityID: String?
    let logins: [String: String]

    init(_ json: JSONObject) throws(JSONObject.Invalid) {
      pool = try json.text("IdentityPoolId")
      provider = try json.text("DeveloperProviderName")
      user = try json.text("DeveloperUserIdentifier")
      identityID = try json.optionalText("IdentityId")
      logins = try json.members("Logins")
    }
  }

  private func token(_ request: Request) async throws -> Response {
    let host = try request.host()
    let body = try await tokenBody(request, host)
    let call = TokenCall(
      proof: host.proof, session: host.session, identityPoolID: body.pool,
      provider: body.provider, user: body.user, identityID: body.identityID, logins: body.logins,
      isForced: request.headers["cache-control"].contains {
        $0.lowercased().contains("no-cache")
      }, origin: host.origin)
    let answer = try await tokens.token(for: call)
    return Response(
      200,
      json: [
        "IdentityId": answer.token.identityID, "Token": answer.token.token,
        "IdentityPoolId": body.pool,
      ],
      // credd warns of it on the host.
      answer.hostExpires.map { [HostEnrolment.header: $0.iso8601] } ?? [:])
  }

  /// Logins of other providers make long bodies. They are read from hosts that are enrolled, a few at
  /// once; a token that only looks like one gets no memory. They are counted by host, from whatever sources
  /// its token comes, because hosts behind one address must not stop each other.
  private func tokenBody(_ request: Request, _ asking: AskingHost) async throws -> TokenBody {
    if let length = request.headers.first(name: "content-length").flatMap({ Int($0) }),
      length <= Limits.smallBodyBytes
    {
      return try await request.json(upTo: Limits.smallBodyBytes, TokenBody.init)
    }
    let host = try await tokens.gate.host(asking)
    return try await tokens.gate.noting(host, asking.origin) {
      guard longBodies.enter(host.name) else {
        throw Refusal(503, "Busy", "too many long requests at once", retryAfter: 2)
      }
      defer { longBodies.leave(host.name) }
      return try await request.json(upTo: Limits.bodyBytes, TokenBody.init)
    }
  }

  private struct AccountBody {
    let username: String
    let password: String
    /// Where somebody signs in.
    let provider: String?
    /// Where somebody registers.
    let invitation: String?

    init(_ json: JSONObject) throws(JSONObject.Invalid) {
      username = try json.text("Username")
      password = try json.text("Password")
      provider = try json.optionalText("DeveloperProviderName")
      invitation = try json.optionalText("Invitation")
    }
  }

  private func login(_ request: Request) async throws -> Response {
    let host = try request.host()
    let body = try await request.json(upTo: Limits.smallBodyBytes, AccountBody.init)
    let (session, identifier) = try await accounts.login(
      on: host, username: body.username, password: body.password, provider: body.provider)
    return Response(
      200, json: ["SessionToken": session, "DeveloperUserIdentifier": identifier])
  }

  /// The body that credd sends says nothing that the tokens do not say.
  private func logout(_ request: Request) async throws -> Response {
    let host = try request.host()
    _ = try await request.body.collect(upTo: Limits.smallBodyBytes)
    try await accounts.logout(on: host)
    return Response(200, json: [:])
  }

  private func register(_ request: Request) async throws -> Response {
    guard request.connection.isPrivate else {
      throw Refusal(403, "TLSRequired", "passwords are taken over TLS only")
    }
    try takeRegistration(request.connection.peer)
    let body = try await request.json(upTo: Limits.smallBodyBytes, AccountBody.init)
    let name = try await accounts.register(
      username: body.username, password: body.password, invitation: body.invitation,
      from: request.connection.peer.source,
      origin: RequestOrigin(request.connection.peer))
    return Response(201, json: ["Username": name])
  }

  /// Before a registration costs anything: the database is everybody's.
  private func takeRegistration(_ peer: Peer) throws(Refusal) {
    // Behind a proxy that does not say who its clients are, all would be one.
    guard let source = peer.source else { return }
    if let pause = registrations.take(source, at: now()) { throw .tooManyAttempts(pause) }
  }

  private func answer(_ sample: SampleService, _ request: Request) async -> Response {
    do {
      guard request.connection.isTLS else {
        throw Refusal(403, "TLSRequired", "this protocol is for TLS only")
      }
      guard [.GET, .POST].contains(request.method) else {
        throw Refusal(405, "MethodNotAllowed", "GET or POST")
      }
      let body = String(
        decoding: try await request.body.collect(upTo: Limits.smallBodyBytes), as: UTF8.self)
      guard let form = FormValues([request.query, body]) else {
        throw Refusal(400, "InvalidRequest", "a parameter stands twice or is not UTF-8")
      }
      let address = request.connection.peer.source ?? "local"
      let text =
        switch request.path {
        case "/registeruser": try await register(form, sample, request.connection.peer)
        case "/login": try await sample.login(form, from: address)
        default: try await sample.token(form, from: address)
        }
      return Self.plain(200, text)
    } catch {
      let refusal = refusal(error)
      var response = Self.plain(refusal.status, refusal.message)
      if let seconds = refusal.retryAfter {
        response.headers.add(name: "Retry-After", value: "\(seconds)")
      }
      return response
    }
  }

  private func register(
    _ form: FormValues, _ sample: SampleService, _ peer: Peer
  ) async throws -> String {
    try takeRegistration(peer)
    return try await sample.register(form, from: peer.source ?? "local")
  }

  private static func plain(_ status: Int, _ text: String) -> Response {
    Response(status, type: "text/plain; charset=UTF-8", Array((text + "\n").utf8))
  }
}
