import Foundation
import TestSupport
import Testing

extension TestHost {
  /// Signs in with other providers' tokens.
  func logIn(_ logins: [String: String], profile: String = "default", _ more: String = "") throws
    -> JSON
  {
    let members = logins.map { #""\#($0)":"\#($1)""# }.joined(separator: ",")
    let line = #"{"op":"login","profile":"\#(profile)","logins":{\#(members)}\#(more)}"#
    return try answer { try ask(line) }
  }

  func logIn(
    _ username: String, password: String? = nil, profile: String = "default"
  ) throws -> JSON {
    let password = password ?? username + "-password"
    try Stage.current().note(secret: password, isPhrase: true)
    let line =
      #"{"op":"login","profile":"\#(profile)","username":"\#(username)","#
      + #""password":"\#(password)"}"#
    return try answer { try ask(line) }
  }

  /// Runs credctl with something on its standard input.
  func credctl(input: String, _ arguments: String...) throws -> Outcome {
    try credctl(input: input, arguments)
  }

  func credctl(input: String, _ arguments: [String]) throws -> Outcome {
    let file = try Stage.current().newFile("stdin")
    try Data(input.utf8).write(to: URL(filePath: file))
    let process = try ChildProcess(
      [Programs.credctl, "--socket", socketPath] + arguments, input: file)
    let status = try process.wait()
    return Outcome(status: status, output: process.output, errors: process.errors)
  }

  func state(_ profile: String = "default") throws -> String? {
    try ask(#"{"op":"identity","profile":"\#(profile)"}"#)["State"]?.text
  }

  func identity(_ profile: String = "default") throws -> String? {
    try ask(#"{"op":"identity","profile":"\#(profile)"}"#)["IdentityId"]?.text
  }

  /// Asks for credentials, which must come.
  func credentials(_ profile: String = "default", refresh: Bool = false) throws -> JSON {
    let reply = try ask(#"{"profile":"\#(profile)","refresh":\#(refresh),"wait":120}"#)
    try #require(reply["AccessKeyId"] != nil, "\(reply)")
    return reply
  }

  /// The owner of these credentials, all of which the sandbox must have issued together: its
  /// `IdentityId`, `RoleArn`.
  func issued(_ credentials: JSON) throws -> JSON { try sandbox.issued(credentials) }

  /// How many callers wait in a session.
  func waiters(_ profile: String = "default") throws -> Int {
    guard case .array(let sessions) = try ask(#"{"op":"status"}"#)["Sessions"] else { return 0 }
    let session = sessions.first { $0["Profile"]?.text == profile }
    return Int(session?["Waiters"]?.number ?? 0)
  }

  /// Starts to ask, and comes back when the daemon waits with the answer.
  func beginToAsk(_ line: String, _ profile: String = "default") throws -> StreamSocket {
    let before = try waiters(profile)
    let socket = try connect()
    try socket.send(line + "\n")
    try Deadline.usual.wait(for: "the daemon to wait") { try waiters(profile) > before }
    return socket
  }

  /// Begins to watch; the present state has been read.
  func watch(_ profile: String = "default") throws -> StreamSocket {
    let socket = try connect()
    try socket.send(#"{"op":"watch","profile":"\#(profile)"}"# + "\n")
    expect(try socket.reply()["Event"]?.text, equals: "state")
    return socket
  }
}

extension StreamSocket {
  /// Reads events up to the first of a kind.
  func event(_ name: String) throws -> JSON {
    while true {
      let event = try reply()
      if event["Event"]?.text == name { return event }
    }
  }
}

extension Sandbox {
  /// To whom these credentials were given: the key, the secret key and the session token together.
  func issued(_ credentials: JSON) throws -> JSON {
    let members = try ["AccessKeyId", "SecretAccessKey", "SessionToken"].map {
      #""\#($0)":"\#(try #require(credentials[$0]?.text, "\($0)"))""#
    }
    return try control("POST", "issued", "{\(members.joined(separator: ","))}")
  }

  /// Signs a user in at a public provider.
  ///
  /// - Parameter more: further members, after a comma.
  func token(of provider: String, _ subject: String, _ more: String = "") throws -> String {
    let reply = try control(
      "POST", "social-token", #"{"Provider":"\#(provider)","Subject":"\#(subject)"\#(more)}"#)
    let token = try #require(reply["Token"]?.text)
    try Stage.current().note(secret: token)
    return token
  }

  /// The JSON of the last request of an operation.
  func lastBody(_ operation: String) throws -> JSON {
    try JSON(try #require(lastRequest(operation)["Body"]?.text))
  }

  /// The form of the last request of an operation.
  func lastForm(_ operation: String) throws -> [String: String] {
    let body = try #require(lastRequest(operation)["Body"]?.text)
    var components = URLComponents()
    components.percentEncodedQuery = body.replacing("+", with: "%20")
    let items = components.queryItems ?? []
    return Dictionary(items.map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { $1 })
  }

  /// Plans that Cognito answers with an error.
  func refuse(
    _ error: String, _ message: String, count: Int = 1
  ) throws {
    try plan(
      #"{"Service":"cognito","Kind":"status","Status":400,"Error":"\#(error)","#
        + #""Message":"\#(message)","Count":\#(count)}"#)
  }

  /// How many calls there were of any kind, but for those of derived profiles.
  var allCalls: Int {
    get throws {
      guard case .object(let calls) = try control("GET", "stats")["Calls"] else { return 0 }
      // A profile that is derived from another one makes calls of its own.
      return calls.filter { !$0.key.contains("GetScopedCredentials") }.values
        .reduce(0) { $0 + Int($1.number ?? 0) }
    }
  }
}

extension Sandbox {
  /// Calls any path, as a browser might.
  ///
  /// - Returns: the answer with its head.
  func call(_ method: String, _ path: String, _ body: String = "") throws -> String {
    let port = try #require(url.split(separator: ":").last.flatMap { UInt16($0) })
    let socket = try StreamSocket(port: port)
    try socket.send(
      "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    return String(decoding: try socket.rest(), as: UTF8.self)
  }
}
