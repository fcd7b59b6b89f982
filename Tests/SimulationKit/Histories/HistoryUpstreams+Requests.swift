import CredCore
import CredService
import Logging

/// How requests and commands arrive, and what becomes of them while there is trouble.
extension HistoryUpstreams {
  /// A request on its way: it is answered once.
  func carry(
    _ request: HTTPRequest, _ settings: HTTPSettings,
    completion: @escaping (Result<HTTPReply, TransportFailure>) -> Void
  ) {
    let flight = begin(request)
    let completion = { [self] (result: Result<HTTPReply, TransportFailure>) in
      network.end(flight)
      completion(result)
    }
    if world.fault == .loggedSecrets { log?.info("\(request.header("Authorization") ?? "")") }
    world.trace("→ \(request.url) \(request.body.exposedText() ?? "")")
    let (usual, timeout) = (0.01 + 0.3 * world.random.fraction(), settings.timeout.inSeconds)
    if let operation = request.poolOperation {
      let body = try? JSONValue.parse(request.body.bytes)
      return sendToPool(request, (operation, body, false), usual, timeout, completion)
    }
    if let (operation, body) = request.providerOperation {
      return sendToPool(request, (operation, body, true), usual, timeout, completion)
    }
    let time =
      switch trouble {
      case .hanging: timeout
      case .slow: usual + 3
      default: usual
      }
    let sent = world.now
    world.inProcess(after: min(time, timeout)) { [self] in
      sentAt = sent
      guard time < timeout else { return completion(.failure(.timeout)) }
      let result = result(of: request) { reply(to: request) }
      if case .success(let reply) = result {
        world.trace("← \(reply.status) \(reply.body.exposedText() ?? "")")
      } else {
        world.trace("← \(result)")
      }
      completion(result)
    }
  }

  /// What a user pool or a provider is asked.
  private typealias PoolCall = (operation: String, body: JSONValue?, isProvider: Bool)

  /// A user pool or a provider does its work though the reply is lost or the daemon has ended.
  private func sendToPool(
    _ request: HTTPRequest, _ call: PoolCall, _ usual: Double, _ timeout: Double,
    _ completion: @escaping (Result<HTTPReply, TransportFailure>) -> Void
  ) {
    let process = world.process
    let server = request.server
    let arrives = trouble(of: request) != .hanging || world.random.happens(0.5)
    let sent = world.now
    world.after(usual / 2) { [self] in
      sentAt = sent
      // It may have changed since.
      let trouble = trouble(of: request)
      let time =
        switch trouble {
        case .hanging: timeout
        case .slow: min(usual + 3, timeout)
        default: usual
        }
      var replaced: Int?
      // A provider that answers 4xx without an OAuth error has ended the session, on the second time.
      let result = result(of: request, errorStatus: call.isProvider ? 500 : 400) {
        guard arrives, let server else { return .plain(404, "") }
        if request.isAtReplica, !Self.ofReplica.contains(call.operation) {
          return .userPool("OperationNotEnabledException", "")
        }
        let (reply, token) = poolReply(call, server, process)
        if world.fault == .repeatedRenewals, call.operation == "GetTokensFromRefreshToken" {
          _ = poolReply(call, server, process)
        }
        replaced = token
        return call.isProvider ? reply.ofProvider : reply
      }
      let isLost = time >= timeout || trouble == .garbage || trouble == .losingReplies
      world.schedule.put(at: world.later(time - usual / 2), process: process) { [self] in
        pools.answered(call.body, token: replaced, isLost: isLost)
        guard time < timeout else { return completion(.failure(.timeout)) }
        if case .success(let reply) = result {
          world.trace("← \(reply.status) \(reply.body.exposedText() ?? "")")
        } else {
          world.trace("← \(result)")
        }
        completion(result)
      }
    }
  }

  /// Regions have their troubles apart: in turns a replica has the primary's, or none.
  private func trouble(of request: HTTPRequest) -> UpstreamTrouble {
    let isApart = (world.trueTime.milliseconds / 600_000).isMultiple(of: 2)
    return request.isAtReplica && isApart ? .none : trouble
  }

  /// What a replica does (developer guide, user-pool-multi-region).
  private static let ofReplica: Set = [
    "InitiateAuth", "RespondToAuthChallenge", "GetTokensFromRefreshToken", "RevokeToken",
    "GlobalSignOut", "GetUser", "ListDevices",
  ]

  private func poolReply(
    _ call: PoolCall, _ server: String, _ process: Int
  ) -> (HTTPReply, replaced: Int?) {
    let body = call.body
    let person = pools.person(asking: body)
    if let fault = fault(for: person.map { [$0] }) { return (fault, nil) }
    // What a pool says before it knows who asks, anybody may hear.
    let isKnown = body?["RefreshToken"] != nil || body?["AccessToken"] != nil
    if trouble == .refusingSome, isKnown, let person, person.isMultiple(of: 2) {
      return (
        .userPool(
          "UserLambdaValidationException", "PreAuth failed with error \(note(about: [person]))."),
        nil
      )
    }
    return pools.reply(call.operation, body, server, process, isProvider: call.isProvider)
  }

  /// A command that runs: it ends once.
  func carry(_ command: Command, completion: @escaping (ExecOutcome) -> Void) {
    let flight = begin(command)
    let completion = { [self] (outcome: ExecOutcome) in
      network.end(flight)
      completion(outcome)
    }
    world.trace("→ \(command.arguments) \(command.input.exposedText() ?? "")")
    let sent = world.now
    world.inProcess(after: 0.01 + 0.3 * world.random.fraction()) { [self] in
      sentAt = sent
      switch trouble {
      case .hanging: return completion(ExecOutcome(ending: .timedOut))
      case .none, .slow, .refusingSome, .failingOne, .throttled: break
      case .unreachable, .failing, .echoing, .garbage, .losingReplies:
        return completion(failure(of: command))
      }
      let body = try? JSONValue.parse(command.input.bytes)
      let reply = callback(
        body, body?["DeveloperUserIdentifier"]?.text, nil, command.server ?? "")
      completion(
        ExecOutcome(ending: .exited(reply.exitStatus), standardOutput: reply.body))
    }
  }

  /// How a command fails: by its status, a signal, its output, or not started at all.
  private func failure(of command: Command) -> ExecOutcome {
    let endings: [ExecOutcome.Ending] =
      switch trouble {
      case .garbage: [.exited(0), .outputTooLarge]
      case .unreachable, .losingReplies:
        [
          .exited(75), .notStarted(StartFailure(reason: "simulated", isTransient: true)),
        ]
      default: [.exited(75), .exited(69), .exited(1), .killed(9), .timedOut]
      }
    var outcome = ExecOutcome(ending: world.random.pick(endings))
    let input = command.input.exposedText() ?? ""
    if trouble == .garbage { outcome.standardOutput = Secret(garbage(input)) }
    if trouble == .echoing {
      let environment = command.environment.map { $0.value.exposedText() ?? "" }
      let words = world.random.pick([input] + environment)
      outcome.standardError = Array("cannot use \(words)\n".utf8)
    }
    return outcome
  }

  private func garbage(_ body: String) -> String {
    world.random.pick([
      "", "<html><body>Welcome</body></html>", "{", "null", #"{"IdentityId":7,"Token":[]}"#,
      String(body.prefix(body.utf8.count / 2)),
    ])
  }

  /// What becomes of a request.
  ///
  /// - Parameters:
  ///   - errorStatus: of a page that holds what was sent.
  ///   - reply: of an upstream that carries it out.
  private func result(
    of request: HTTPRequest, errorStatus: Int = 400, _ reply: () -> HTTPReply
  ) -> Result<HTTPReply, TransportFailure> {
    switch trouble(of: request) {
    case .unreachable: return .failure(.connect)
    case .failing where failsInAnyWay:
      refused?()
      return .success(HistoryFailures.reply(to: request, &world.random))
    case .failing: return .success(.plain(503, words(about: request)))
    case .throttled:
      var reply = HTTPReply.plain(429, "slowly")
      reply.headers.append(HTTPReply.Header(name: "Retry-After", value: "7"))
      return .success(reply)
    case .echoing:
      let headers = request.headers.map { "\($0.name): \($0.value.exposedText() ?? "")" }
      let body = request.body.exposedText() ?? ""
      return .success(
        .plain(errorStatus, #"{"message":"bad: \#(headers.joined(separator: " "))"} \#(body)"#))
    case .garbage:
      let body = reply().body.exposedText() ?? ""
      return .success(.plain(200, garbage(body)))
    case .losingReplies:
      _ = reply()
      return .failure(.reset)
    case .none, .slow, .hanging, .refusingSome, .failingOne:
      var reply = reply()
      reply.headers.append(.date(world.trueTime))
      return .success(reply)
    }
  }

  /// What a backend says that fails for everybody, of the one whom it was asked for.
  private func words(about request: HTTPRequest) -> String {
    let body = try? JSONValue.parse(request.body.bytes)
    guard let persons = (body?["DeveloperUserIdentifier"]?.text).flatMap(persons) else {
      return "down"
    }
    return #"{"message":"\#(note(about: persons)) is down"}"#
  }

  private func reply(to request: HTTPRequest) -> HTTPReply {
    let body = try? JSONValue.parse(request.body.bytes)
    if let target = request.header("X-Amz-Target") {
      let operation = target.split(separator: ".").last.map(String.init) ?? ""
      return cognito(operation, body)
    }
    if let reply = derivedReply(to: request) { return reply }
    if request.body.exposedText()?.contains("AssumeRoleWithWebIdentity") == true {
      return role(request.body.exposedText() ?? "")
    }
    let parts = request.url.split(separator: "/")
    guard parts.count >= 3, let server = request.server else { return .plain(404, "") }
    let bearer = request.header("Authorization").flatMap(sent)
    staysWithIssuer(bearer, world.fault == .wrongServers ? "another" : server)
    switch parts[2] {
    case "login": return login(body, server)
    case "logout": return .plain(200, "{}")
    case "register": return register(body, server)
    default:
      let name = parts.count > 3 ? String(parts[3]) : body?["DeveloperUserIdentifier"]?.text
      return callback(body, name, bearer, server)
    }
  }
}

extension Command {
  /// The server of the backend that runs it.
  var server: String? { arguments[0].split(separator: "/").dropLast().last.map(String.init) }
}

extension HTTPRequest {
  /// The first name of the host.
  var server: String? {
    url.split(separator: "/").dropFirst().first?.split(separator: ".").first.map(String.init)
  }

  /// The operation of a request to a user pool; nil for others.
  fileprivate var poolOperation: String? {
    guard let target = header("X-Amz-Target"),
      target.hasPrefix("AWSCognitoIdentityProviderService.")
    else { return nil }
    return target.split(separator: ".").last.map(String.init)
  }

  func header(_ name: String) -> String? {
    headers.first { $0.name == name }?.value.exposedText()
  }
}

extension HTTPReply {
  /// How a command ends that got this from its server.
  var exitStatus: Int32 {
    switch status {
    case 200: 0
    case 429, 500...: 75
    default: 77
    }
  }

  static func plain(_ status: Int, _ body: String) -> HTTPReply {
    HTTPReply(status: status, body: Secret(body))
  }

  static func cognito(
    _ message: String, _ type: String = "NotAuthorizedException"
  ) -> HTTPReply {
    plain(400, #"{"__type":"\#(type)","message":"\#(message)"}"#)
  }

  static func sts(_ code: String, _ message: String = "") -> HTTPReply {
    let error = "<Code>\(code)</Code><Message>\(message)</Message>"
    return plain(400, "<ErrorResponse><Error>\(error)</Error></ErrorResponse>")
  }
}

extension HTTPReply.Header {
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// `Date`, as RFC 9110 §5.6.7 writes it. credd reads any day's name, so it is always the same.
  static func date(_ time: WallTime) -> Self {
    let text = Array(time.iso8601.utf8)
    func part(_ range: Range<Int>) -> String { String(decoding: text[range], as: UTF8.self) }
    let month = months[(Int(part(5..<7)) ?? 1) - 1]
    return Self(
      name: "Date", value: "Mon, \(part(8..<10)) \(month) \(part(0..<4)) \(part(11..<19)) GMT")
  }
}
