import Foundation
import Testing

/// A host whose profile `default` signs in at the sandbox's user pool.
struct UserPoolHost {
  static let password = "Sandbox-1"
  static let client = "1sandboxclient234567890abc"

  let host: TestHost

  init(
    _ backend: String = "", profile: String = "", sandbox options: [String] = [],
    managed: Bool = false
  ) throws {
    host = try TestHost(sandbox: options, managed: managed) {
      Configuration.userPool($0, backend: backend, profile: profile)
    }
  }

  @discardableResult
  func ask(_ line: String) throws -> JSON { try host.ask(line) }

  @discardableResult
  func logIn(_ username: String = "alice", _ password: String = password) throws -> JSON {
    try host.logIn(username, password: password)
  }

  /// Signs alice in, who is asked nothing else.
  func signIn() throws {
    let reply = try logIn()
    try #require(reply["State"]?.text == "signedIn", "\(reply)")
  }

  /// Answers a challenge.
  func answer(_ asked: JSON, _ answers: String) throws -> JSON {
    let handle = try #require(asked["Challenge"]?["Handle"]?.text, "\(asked)")
    return try ask(#"{"op":"respond","handle":"\#(handle)","answers":{\#(answers)}}"#)
  }

  func pool(_ settings: String) throws { try host.sandbox.control("POST", "user-pool", settings) }

  func client(_ settings: String) throws {
    try host.sandbox.control(
      "POST", "user-pool/client", #"{"ClientId":"\#(Self.client)",\#(settings)}"#)
  }

  @discardableResult
  func user(_ username: String = "alice", _ settings: String) throws -> JSON {
    try host.sandbox.control(
      "POST", "user-pool/user", #"{"Username":"\#(username)",\#(settings)}"#)
  }

  /// The latest code that the pool sent to a user.
  func code(of username: String = "alice") throws -> String {
    let sent = try host.sandbox.control("GET", "user-pool/messages?Username=\(username)")
    guard case .array(let messages)? = sent["Messages"], let code = messages.first?["Code"]?.text
    else { throw Overdue("a message to \(username)") }
    return code
  }

  /// How many messages the pool sent to a user.
  func messages(to username: String = "alice") throws -> Int {
    let sent = try host.sandbox.control("GET", "user-pool/messages?Username=\(username)")
    guard case .array(let messages)? = sent["Messages"] else { return 0 }
    return messages.count
  }

  func appCode(_ secret: String) throws -> String {
    try #require(
      try host.sandbox.control("GET", "user-pool/totp?Secret=\(secret)")["Code"]?.text)
  }

  func calls(_ operation: String) throws -> Int {
    try host.sandbox.calls("cognito-idp.\(operation)")
  }
}

extension JSON {
  var step: String? { self["Challenge"]?["Step"]?.text }
  var handle: String? { self["Challenge"]?["Handle"]?.text ?? self["Error"]?["Handle"]?.text }
  var state: String? { self["State"]?.text }
}
