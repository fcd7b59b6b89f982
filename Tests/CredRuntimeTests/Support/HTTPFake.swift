import Foundation
import Synchronization

/// An HTTP server of the world outside, on threads: says what a test wants it to say.
final class HTTPFake: Sendable {
  struct Request: Sendable {
    let head: String
    let body: String
    /// The how-manieth request of its connection, from 1.
    let number: Int
  }

  enum Answer: Sendable {
    /// Sent as it stands; the connection stays open.
    case raw(String)
    /// Sent as it stands; then the connection is closed.
    case last(String)
    /// The connection is reset.
    case reset
    /// Nothing, until the client leaves.
    case silence

    static func json(_ body: String) -> Answer {
      .raw("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }
  }

  private struct Seen {
    var requests: [Request] = []
    var connections = 0
  }

  private let listener: Socket
  let port: Int
  private let seen = Mutex(Seen())

  var requests: [Request] { seen.withLock { $0.requests } }
  var connections: Int { seen.withLock { $0.connections } }
  var url: String { "http://127.0.0.1:\(port)/path" }

  init(_ answer: @escaping @Sendable (Request) -> Answer) throws {
    (listener, port) = try Socket.listeningOnLoopback()
    serve(answer)
  }

  /// At a Unix socket.
  init(path: String, _ answer: @escaping @Sendable (Request) -> Answer) throws {
    (listener, port) = (try Socket.listening(at: path), 0)
    serve(answer)
  }

  deinit {
    listener.shutDown()
  }

  private func serve(_ answer: @escaping @Sendable (Request) -> Answer) {
    Thread.detachNewThread { [weak self, listener] in
      while let client = listener.accept() {
        self?.seen.withLock { $0.connections += 1 }
        Thread.detachNewThread { [weak self] in
          var number = 1
          while let request = Self.read(client, number) {
            self?.seen.withLock { $0.requests.append(request) }
            guard Self.give(answer(request), client) else { return }
            number += 1
          }
        }
      }
    }
  }

  /// False where the connection is at its end.
  private static func give(_ answer: Answer, _ client: Socket) -> Bool {
    switch answer {
    case .raw(let text):
      return client.send(text)
    case .last(let text):
      client.send(text)
    case .reset:
      client.resetOnClose()
    case .silence:
      _ = client.rest()
    }
    return false
  }

  private static func read(_ client: Socket, _ number: Int) -> Request? {
    var text = ""
    while true {
      if let end = text.range(of: "\r\n\r\n") {
        let head = String(text[..<end.lowerBound])
        let length = head.lowercased().split(separator: "\r\n")
          .first { $0.hasPrefix("content-length: ") }
          .flatMap { Int($0.dropFirst(16)) }
        let body = String(text[end.upperBound...])
        if body.utf8.count >= length ?? 0 {
          return Request(head: head, body: body, number: number)
        }
      }
      let next = client.receive()
      guard !next.isEmpty else { return nil }
      text += String(decoding: next, as: UTF8.self)
    }
  }
}
