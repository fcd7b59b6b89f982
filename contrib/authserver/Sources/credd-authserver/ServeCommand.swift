import ArgumentParser
import AuthCore
import AuthServer
import AuthStore
import FoundationEssentials
import Logging

struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Run the server.")
  @OptionGroup var common: Common
  @Option(help: "debug, info, notice, warning or error.")
  var logLevel = "info"
  @Flag(help: "Say all that is wrong with the configuration and what it names; change nothing.")
  var check = false

  func run() async throws {
    guard let level = Logger.Level(rawValue: logLevel) else {
      throw Failed(
        "--log-level \(logLevel.visible) is not debug, info, notice, warning or error", .usage)
    }
    LoggingSystem.bootstrap { _ in StructuredLog(level: level) }
    guard !check else { return try await common.check() }
    var options = Server.Options(
      configuration: try common.read(), log: Logger(label: "credd-authserver"))
    options.environment = ProcessInfo.processInfo.environment
    options.hostName = Common.hostName
    options.passwordLists = common.passwordLists
    options.processors = ProcessInfo.processInfo.activeProcessorCount
    let server: Server
    do {
      try common.becomeOwner(of: options.configuration.database)
      server = try await Server(options)
    } catch let error as StoreError {
      throw Failed(error, of: options.configuration.database)
    }
    do { try await server.run() } catch let failure as ServerFailure {
      throw Failed(failure.description, .unavailable)
    }
  }
}

struct Migrate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Bring the database's schema up to date; serve does it too.")
  @OptionGroup var common: Common

  func run() async throws {
    let configuration = try common.read()
    do {
      try common.becomeOwner(of: configuration.database)
      let store = try AuthStore(configuration.database)
      let before = try await store.migrate()
      await store.close()
      try common.say(
        "schema version \(AuthStore.schemaVersion), was \(before)",
        ["version": .number(Int64(AuthStore.schemaVersion)), "was": .number(Int64(before))])
    } catch let error as StoreError {
      throw Failed(error, of: configuration.database)
    }
  }
}
