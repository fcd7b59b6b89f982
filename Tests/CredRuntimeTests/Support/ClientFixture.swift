import CredCore
import Foundation
import Logging
import TestSupport

@testable import CredRuntime
@testable import CredService

/// An HTTP client on a loop.
final class ClientFixture: Sendable {
  let thread: LoopThread
  private let client: OnLoop<HTTPClient>

  /// What the client has of its host.
  typealias Parts = (clock: any Clock, background: any Background)

  /// - Parameters:
  ///   - environment: the variables that the client sees.
  ///   - change: puts something else in place of a part.
  init(
    connections: Int = 10, environment: [String: String] = [:],
    _ change: @escaping @Sendable (EventLoop, Parts) -> Parts = { $1 }
  ) throws {
    thread = try LoopThread()
    client = try thread.run { loop in
      let log = Logger(label: "test")
      let parts = change(
        loop,
        (
          try SystemClock(loop: loop, log: log),
          try ThreadBackground(loop: loop, log: Heard().logger)
        ))
      return OnLoop(
        value: HTTPClient(
          loop: loop, clock: parts.clock, background: parts.background, connections: connections,
          log: log, variable: { environment[$0] }))
    }
  }

  deinit {
    thread.stop()
  }

  func send(
    _ request: HTTPRequest, timeout: Duration = HangLimit.duration, replyLimit: Int = 1000,
    _ change: @escaping @Sendable (inout HTTPSettings) -> Void = { _ in }
  ) throws -> Result<HTTPReply, TransportFailure> {
    try thread.wait { [client] _, done in
      var settings = HTTPSettings(timeout: timeout, replyLimit: replyLimit)
      change(&settings)
      client.value.send(request, settings, completion: done)
      return nil
    }
  }

  func configurationChanged() throws {
    try thread.run { [client] _ in client.value.configurationChanged() }
  }

  /// Sends a request whose reply nobody waits for.
  func begin(_ request: HTTPRequest, timeout: Duration) throws {
    try thread.run { [client] _ in
      client.value.send(request, HTTPSettings(timeout: timeout, replyLimit: 1000)) { _ in }
    }
  }

  /// Sends all of them at once, and then does something on the loop.
  func sendTogether(
    _ requests: [(HTTPRequest, timeout: Duration)],
    _ then: @escaping @Sendable (HTTPClient) -> Void = { _ in }
  ) throws -> [Result<HTTPReply, TransportFailure>] {
    let results: [Int: Result<HTTPReply, TransportFailure>] = try thread.wait {
      [client] _, done in
      var results: [Int: Result<HTTPReply, TransportFailure>] = [:]
      for (number, (request, timeout)) in requests.enumerated() {
        client.value.send(request, HTTPSettings(timeout: timeout, replyLimit: 1000)) {
          results[number] = $0
          if results.count == requests.count { done(results) }
        }
      }
      then(client.value)
      return nil
    }
    return requests.indices.compactMap { results[$0] }
  }

  func get(_ url: String) throws -> Result<HTTPReply, TransportFailure> {
    try send(HTTPRequest(method: .get, url: url))
  }
}

extension Result where Success == HTTPReply, Failure == TransportFailure {
  var text: String? { (try? get())?.body.exposedText() }

  var failure: TransportFailure? {
    if case .failure(let failure) = self { failure } else { nil }
  }
}
