import CredCore
import Foundation
import Logging

@testable import CredRuntime

/// An HTTP client on a loop.
final class ClientFixture: Sendable {
  let thread: LoopThread
  private let client: OnLoop<HTTPClient>

  init(connections: Int = 10) throws {
    thread = try LoopThread()
    client = try thread.run {
      OnLoop(
        value: HTTPClient(
          loop: $0.loop, connections: connections, log: Logger(label: "test")))
    }
  }

  deinit {
    thread.stop()
  }

  func send(
    _ request: HTTPRequest, timeout: Duration = .seconds(15), replyLimit: Int = 1000,
    _ change: @escaping @Sendable (inout HTTPSettings) -> Void = { _ in }
  ) throws -> Result<HTTPReply, TransportFailure> {
    try thread.run { [client] _ in
      var settings = HTTPSettings(timeout: timeout, replyLimit: replyLimit)
      change(&settings)
      return await client.value.send(request, settings)
    }
  }

  /// Sends all of them at once.
  func sendTogether(
    _ requests: [(HTTPRequest, timeout: Duration)]
  ) throws -> [Result<HTTPReply, TransportFailure>] {
    try thread.run { [client] stage in
      let tasks = requests.map { request, timeout in
        Task(executorPreference: stage.loop) {
          // A task is on the loop only if it captures the actor.
          _ = stage
          return await client.value.send(
            request, HTTPSettings(timeout: timeout, replyLimit: 1000))
        }
      }
      var results: [Result<HTTPReply, TransportFailure>] = []
      for task in tasks { results.append(await task.value) }
      return results
    }
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
