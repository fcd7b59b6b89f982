import CredCore
import Foundation
import Glibc
import Logging

@testable import CredRuntime

/// Sessions behind a server on a loop, without anything upstream: calls begin and never end.
final class ServiceFixture: Sendable {
  private let folder: TemporaryFolder
  private let path: String
  private let thread: LoopThread
  private typealias Parts = (
    service: SessionService, server: ClientServer, socket: ServerFixture.Listener
  )
  private let parts: OnLoop<Parts>

  /// - Parameters:
  ///   - keys: of the profile `default`.
  ///   - daemon: of the daemon.
  init(_ keys: String, daemon: String = "") throws {
    folder = try TemporaryFolder()
    try folder.write(
      "credd.conf",
      """
      [daemon]
      \(daemon)
      [backend corp]
      type = http
      url = http://127.0.0.1/token
      [profile default]
      identity_pool_id = us-east-1:11111111-2222-3333-4444-555555555555
      developer_provider = login.example.app
      backend = corp
      user_identifier = u
      \(keys)

      """)
    let reading = try ConfigurationFiles.read("\(folder.path)/credd.conf")
    guard let configuration = reading.configuration else {
      throw Unusable(diagnostics: reading.diagnostics.map(\.description))
    }
    let path = "\(folder.path)/s"
    self.path = path
    let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    thread = try LoopThread()
    parts = try thread.run { stage in
      let settings = ActiveConfiguration(configuration, log: log)
      let service = try SessionService(loop: stage.loop, settings: settings, log: log)
      let server = try ClientServer(
        loop: stage.loop, limits: ServerLimits(configuration.daemon), handler: service)
      service.server = server
      let socket = try ServerFixture.Listener(path)
      try server.listen(on: socket.bound.descriptor)
      return OnLoop(value: (service, server, socket))
    }
  }

  deinit {
    thread.stop()
  }

  struct Unusable: Error {
    let diagnostics: [String]
  }

  func connect() throws -> Socket { try Socket(path: path) }

  /// Runs `body` on the loop.
  func run<R: Sendable>(_ body: @escaping @Sendable (SessionService) throws -> R) throws -> R {
    try thread.run { [parts] _ in try body(parts.value.service) }
  }

  func reaches(_ condition: @escaping @Sendable (SessionService) -> Bool) throws -> Bool {
    try thread.reaches { [parts] _ in condition(parts.value.service) }
  }
}
