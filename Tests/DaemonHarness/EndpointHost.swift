import Foundation
import Glibc
import TestSupport
import Testing

/// A host whose daemon serves HTTP clients, at an address that stays over restarts.
final class EndpointHost {
  let host: TestHost
  let port: UInt16
  let tokenSocket: String
  private let runtime: URL

  /// Root is an HTTP client only where it is named.
  init(
    sandbox: [String] = [],
    _ configuration: (Sandbox) -> String = {
      Configuration.usual($0, profile: "allow_users = * root")
    }
  ) throws {
    port = try FreePort.any()
    tokenSocket = try Stage.current().newFile("t")
    // The key must be in memory.
    runtime = URL(filePath: "/dev/shm/credd-endpoint-\(getpid())-\(port)")
    try FileManager.default.createDirectory(
      at: runtime, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    host = try TestHost(
      sandbox: sandbox, environment: ["RUNTIME_DIRECTORY": runtime.path],
      arguments: [
        "--log-level", "debug", "--endpoint", "127.0.0.1:\(port)", "--token-socket", tokenSocket,
      ], configuration)
    // Until the crypto library is loaded, the endpoint is off.
    try Deadline.usual.wait(for: "the endpoint") {
      try host.ask(#"{"op":"endpoint"}"#).errorCode != "EndpointOff"
    }
  }

  deinit { try? FileManager.default.removeItem(at: runtime) }

  func token(_ profile: String = "default") throws -> String {
    let reply = try host.ask(#"{"op":"endpoint","profile":"\#(profile)"}"#)
    expect(reply["Url"]?.text, equals: "http://127.0.0.1:\(port)/credentials/\(profile)")
    return try #require(reply["Token"]?.text)
  }

  /// What leads an SDK here.
  func variables(_ profile: String = "default") throws -> [String: String] {
    [
      "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:\(port)/credentials/\(profile)",
      "AWS_CONTAINER_AUTHORIZATION_TOKEN": try token(profile),
    ]
  }

  func head(_ token: String?, _ fields: String = "", path: String = "/credentials/default")
    -> String
  {
    "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nAccept: application/json\r\n"
      + (token.map { "Authorization: \($0)\r\n" } ?? "") + fields + "\r\n"
  }

  /// Sends bytes and reads what comes until the other side closes.
  func exchange(_ text: String) throws -> String {
    let socket = try StreamSocket(port: port)
    try socket.send(text)
    return String(decoding: try socket.rest(), as: UTF8.self)
  }

  func get(_ token: String?, _ fields: String = "", path: String = "/credentials/default") throws
    -> (status: Int, body: JSON)
  {
    let text = try exchange(head(token, fields + "Connection: close\r\n", path: path))
    let parts = text.components(separatedBy: "\r\n\r\n")
    let status = try #require(Int(text.split(separator: " ").dropFirst().first ?? ""), "\(text)")
    return (status, try JSON(parts.last ?? ""))
  }

  /// The first answer that is not 503. On a slow machine a first refresh takes longer than the endpoint
  /// waits; asking again starts no other.
  func firstAnswer(_ token: String) throws -> (status: Int, body: JSON) {
    var answer = (status: 503, body: JSON.null)
    try Deadline.usual.wait(for: "credentials at the endpoint") {
      answer = try get(token)
      return answer.status != 503
    }
    return answer
  }

  /// The value of one sample of the metrics; 0 if there is none.
  func sample(_ name: String) throws -> Int {
    let text = try #require(try host.ask(#"{"op":"metrics"}"#)["Metrics"]?.text)
    let line = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
    return line.flatMap { Int($0.dropFirst(name.utf8.count + 1)) } ?? 0
  }
}
