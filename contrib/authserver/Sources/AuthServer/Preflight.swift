public import AuthCore
import AuthStore
import Glibc

/// What would keep the server from working, all of it at once. Nothing is changed, and no program is
/// run.
public struct Preflight: Sendable {
  private let configuration: AuthCore.Configuration
  private let environment: [String: String]
  private let now: Timestamp

  public init(
    _ configuration: AuthCore.Configuration, environment: [String: String], now: Timestamp
  ) {
    self.configuration = configuration
    self.environment = environment
    self.now = now
  }

  /// - Parameter hasDatabase: false where the configuration names one that cannot be.
  public func faults(hasDatabase: Bool = true) async -> [String] {
    var faults: [String] = []
    if let files = TLSFiles(configuration) { faults += files.faults(at: now) }
    faults += await credentialsFaults()
    if hasDatabase, let fault = await databaseFault() { faults.append("database: \(fault)") }
    return faults
  }

  private func credentialsFaults() async -> [String] {
    let source = AWSCredentials.Source(configuration.aws, environment: environment)
    switch source {
    case .process(let command):
      var state = stat()
      guard unsafe stat(command[0], &state) == 0, unsafe access(command[0], X_OK) == 0 else {
        return ["credential_process: \(command[0]) cannot be run: \(SystemError.last)"]
      }
      return state.st_mode & S_IFMT == S_IFREG
        ? [] : ["credential_process: \(command[0]) is not a program"]
    // The unit's environment is not that of the shell in which somebody checks.
    case .environment where environment["INVOCATION_ID"] == nil: return []
    case .file, .environment:
      let now = now
      do {
        _ = try await AWSCredentials(source, now: { now }).keys()
        return []
      } catch {
        if case .file = source { return ["credentials_file: \(error)"] }
        return ["[aws]: \(error)"]
      }
    }
  }

  private func databaseFault() async -> String? {
    if case .sqlite(let path) = configuration.database {
      if let fault = SQLiteFolder.fault(of: path) { return fault }
      // The server makes it.
      if unsafe access(path, F_OK) != 0, errno == ENOENT { return nil }
      if unsafe access(path, R_OK | W_OK) != 0 {
        return "\(path) cannot be written: \(SystemError.last)"
      }
    }
    do {
      let store = try AuthStore(configuration.database, .read)
      let fault: Result<String?, any Error>
      do { fault = .success(try await store.schemaFault()) } catch { fault = .failure(error) }
      await store.close()
      return try fault.get()
    } catch { return "\(error)" }
  }
}
