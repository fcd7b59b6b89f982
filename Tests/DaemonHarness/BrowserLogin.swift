import Foundation
import TestSupport
import Testing

/// `credctl login` that waits for a browser, with a fake daemon behind it. The test is the browser, and
/// whoever else connects.
final class BrowserLogin {
  static let handle = String(repeating: "5f", count: 16)
  static let state = "c3RhdGU-state_0123456789"
  static let url = "https://idp.example/authorize?state=\(state)&nonce=x"
  static let signedIn =
    #"{"Version":1,"Profile":"default","State":"signedIn","IdentityId":"us-east-1:x","Username":"alice","SignedInBy":"oidc"}"#

  let port: UInt16
  let redirectURI: String
  let daemon: FakeDaemon
  let terminal: TerminalProcess
  /// What the browser was started with, a line each.
  private let argumentsPath: String

  /// - Parameters:
  ///   - host: of the redirect URI.
  ///   - arguments: of `login`.
  ///   - opens: whether there is a browser, which does nothing.
  ///   - respond: the reply to the browser's response.
  init(
    host: String = "127.0.0.1", _ arguments: [String] = ["--browser"], opens: Bool = true,
    means: String = #""browser","paste""#, respond: String = signedIn, expiresIn: Int = 120,
    environment: [String: String] = [:], port given: UInt16? = nil
  ) throws {
    port = try given ?? FreePort.any()
    redirectURI = "http://\(host):\(port)/back"
    let stage = try Stage.current()
    argumentsPath = stage.newFile("arguments")
    let script = stage.newFile("browser")
    try Data("#!/bin/sh\nprintf '%s\\n' \"$@\" >>'\(argumentsPath)'\n".utf8)
      .write(to: URL(filePath: script))
    daemon = try FakeDaemon(
      Self.replies(redirectURI, means: means, respond: respond, expiresIn: expiresIn))
    terminal = try TerminalProcess(
      [Programs.credctl, "--socket", daemon.socketPath, "login"] + arguments,
      // The kernel starts no file that a test, or a child that it is just starting, has open to write.
      environment: (opens ? ["BROWSER": "/bin/sh \(script)"] : [:]).merging(
        environment, uniquingKeysWith: { $1 }))
  }

  static func replies(
    _ redirectURI: String, means: String = #""browser","paste""#, respond: String = signedIn,
    expiresIn: Int = 120
  ) -> [String: String] {
    [
      "status": """
      {"Version":1,"Sessions":[],"Daemon":{},"Profiles":[{"Profile":"default","SignIn":\
      {"Means":[\(means)],"RedirectUris":["\(redirectURI)"]}}]}
      """,
      "login": """
      {"Version":1,"Profile":"default","State":"signedOut","Challenge":{"Handle":"\(handle)",\
      "Step":"browser","Name":"AUTHORIZATION_CODE","Parameters":{"Url":"\(url)",\
      "RedirectUri":"\(redirectURI)","State":"\(state)"},"Answers":["response"],"Optional":[],\
      "ExpiresIn":\(expiresIn)}}
      """, "respond": respond,
    ]
  }

  /// Until credctl listens and says so.
  @discardableResult
  func waitUntilItListens() throws -> String { try terminal.expect("Ctrl-C ends the sign-in.") }

  /// The link that the browser was started with.
  func startLink() throws -> String {
    var link: String?
    try Deadline.usual.wait(for: "the browser") {
      link = (try? String(contentsOfFile: argumentsPath, encoding: .utf8))?
        .split(separator: "\n").first.map(String.init)
      return link != nil
    }
    return try #require(link)
  }

  var hasStartedBrowser: Bool { FileManager.default.fileExists(atPath: argumentsPath) }

  /// The path and query at which the browser comes back.
  static func response(_ code: String = "code.1", state: String = state) -> String {
    "/back?code=\(code)&state=\(state)"
  }

  /// What a program gets there: status line, fields and page.
  func fetch(
    _ target: String, as user: OtherUser? = nil, _ options: String...
  ) throws -> (status: String, text: String) {
    try Self.fetch("http://127.0.0.1:\(port)\(target)", as: user, options)
  }

  static func fetch(
    _ url: String, as user: OtherUser? = nil, _ options: [String] = []
  ) throws -> (status: String, text: String) {
    let curl = try #require(Programs.installed("curl"))
    let process = try ChildProcess(
      (try user?.prefix ?? []) + [curl, "-sSi", "--noproxy", "*", "--max-time", "20"] + options
        + [url])
    try process.wait()
    let text = process.output
    return (String(text.split(separator: " ").dropFirst().first ?? ""), text + process.errors)
  }

  /// What the daemon was told of the sign-in, besides that it begins.
  var responses: [String] { daemon.requests.filter { $0.contains(#""op":"respond""#) } }

  /// Ends the sign-in as it should end.
  func expectSignIn() throws {
    let page = try fetch(Self.response())
    expect(page.status == "200" && page.text.contains("as alice"), "\(page)")
    try terminal.expect("default signedIn ")
    expect(try terminal.end(), equals: 0, "\(terminal.text)")
    expect(responses.count, equals: 1, "\(responses)")
    expect(
      responses.last,
      equals:
        #"{"op":"respond","handle":"\#(Self.handle)","answers":{"response":"code=code.1&state=\#(Self.state)"}}"#
    )
  }
}
