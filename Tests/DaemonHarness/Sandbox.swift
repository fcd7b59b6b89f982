import Foundation

/// A running credd-sandbox, and its control path.
struct Sandbox {
  static let pool = "us-east-1:11111111-2222-3333-4444-555555555555"

  let process: ChildProcess
  /// `http://127.0.0.1:PORT`.
  let url: String
  /// The same over TLS, where that was asked for.
  let tlsURL: String
  /// The user pools' replica, where that was asked for.
  let replicaURL: String
  let port: UInt16

  init(_ options: [String] = []) throws {
    let ready = try Stage.current().newFile("ready")
    let process = try ChildProcess(
      [
        Programs.sandbox, "--port", "0", "--ready-file", ready, "--quiet", "--signing-key",
        Programs.signingKey,
      ] + options)
    try Deadline.usual.wait(for: "credd-sandbox") {
      if let status = process.status {
        throw Overdue("credd-sandbox: it ended with \(status): \(process.errors)")
      }
      return FileManager.default.fileExists(atPath: ready)
    }
    let urls = try String(contentsOfFile: ready, encoding: .utf8).split(separator: "\n")
    guard let url = urls.first, let port = url.split(separator: ":").last.flatMap({ UInt16($0) })
    else { throw Overdue("the sandbox's URL") }
    self.process = process
    self.url = String(url)
    self.port = port
    tlsURL = urls.first { $0.hasPrefix("https:") }.map(String.init) ?? ""
    let replica = urls.dropFirst().last { $0.hasPrefix("http:") }
    replicaURL = replica.map(String.init) ?? ""
  }

  /// Plans a fault, written as the control path takes it.
  func plan(_ fault: String) throws { try control("POST", "fault", fault) }

  func clearFaults() throws { try control("DELETE", "fault") }

  /// How often an operation was called, named as `backend.token`.
  func calls(_ name: String) throws -> Int {
    Int(try control("GET", "stats")["Calls"]?[name]?.number ?? 0)
  }

  var callbacks: Int { get throws { try calls("backend.token") } }
  var exchanges: Int { get throws { try calls("cognito.GetCredentialsForIdentity") } }

  /// The last request of an operation: `Method`, `Path`, `Query`, `Headers`, `Body`.
  func lastRequest(_ operation: String) throws -> JSON {
    try control("GET", "last?Operation=\(operation)")
  }

  @discardableResult
  func control(_ method: String, _ path: String, _ body: String = "") throws -> JSON {
    let socket = try StreamSocket(port: port)
    try socket.send(
      "\(method) /control/\(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    let answer = String(decoding: try socket.rest(), as: UTF8.self)
    guard answer.hasPrefix("HTTP/1.1 200 "), let end = answer.range(of: "\r\n\r\n") else {
      throw ControlRefused(request: "\(method) \(path) \(body)", answer: answer)
    }
    return try JSON(String(answer[end.upperBound...]))
  }
}

struct ControlRefused: Error {
  let request: String
  let answer: String
}
