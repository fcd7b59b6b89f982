import ArgumentParser
import AuthCore
import AuthStore

struct Backup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy the database into a new file, while the server runs.")
  @OptionGroup var common: Common
  @Argument(help: "A file that is not there yet.") var file: String

  func run() async throws {
    let configuration = try common.read()
    guard case .sqlite = configuration.database else {
      throw Failed(
        "the database is PostgreSQL, whose own program copies it: pg_dump -Fc -f \(file) URL",
        .usage)
    }
    // The copy may lie in a folder that is closed to the database's owner, as whom root goes on.
    let copy = try NewFile(file)
    let time = Timestamp.now
    do {
      try common.becomeOwner(of: configuration.database)
      let store = try AuthStore(configuration.database, .read)
      let outcome: Result<Void, any Error>
      do {
        try await store.checkSchema(isReading: true)
        outcome = .success(try await store.copy(to: copy.descriptor))
      } catch { outcome = .failure(error) }
      await store.close()
      try outcome.get()
    } catch StoreError.full {
      throw Failed("no room is left for \(file)", .unavailable)
    } catch let error as StoreError {
      throw Failed(error, of: configuration.database)
    }
    let bytes = try copy.publish()
    try common.say(
      "\(file) has the database of \(time.iso8601): \(bytes) bytes",
      ["file": .text(file), "time": .text(time.iso8601), "bytes": .number(bytes)])
  }
}
