public import AuthCore
public import CredCore
import FoundationEssentials

/// The server's own AWS credentials, which Cognito's developer operations want.
public actor AWSCredentials {
  public enum Source: Sendable, Equatable {
    case environment([String: String])
    case file(String)
    case process([String])

    public init(_ aws: AuthCore.Configuration.AWS, environment: [String: String]) {
      if let file = aws.credentialsFile {
        self = .file(file)
      } else if let command = aws.credentialProcess {
        self = .process(command)
      } else {
        self = .environment(environment)
      }
    }
  }

  /// What is wrong, for the log.
  public struct Failure: Error, Equatable, CustomStringConvertible {
    public let description: String
  }

  private let source: Source
  private let now: @Sendable () -> Timestamp
  private var kept: DeveloperCredentials?
  private var read: Timestamp?
  private var reading: Task<DeveloperCredentials, any Error>?
  /// The last failure is the answer for a moment, so that a broken source is not asked for each
  /// callback.
  private var failure: (error: any Error, time: Timestamp)?

  public init(_ source: Source, now: @escaping @Sendable () -> Timestamp) {
    self.source = source
    self.now = now
  }

  /// Good for another five minutes, if the source has such.
  public func keys() async throws -> DeveloperCredentials {
    if let kept, isFresh(kept) { return kept }
    if let reading { return try await reading.value }
    if let failure, isWithin(.seconds(5), of: failure.time) { throw failure.error }
    let source = source
    let task = Task { try await Self.keys(from: source) }
    reading = task
    defer { reading = nil }
    do {
      let keys = try await task.value
      kept = keys
      read = now()
      failure = nil
      return keys
    } catch {
      // Those at hand serve while they last.
      if let kept, let end = kept.end, now() < end { return kept }
      failure = (error, now())
      throw error
    }
  }

  /// Cognito has refused them: the next call reads them anew. A source that gives wrong ones is not
  /// asked for each callback either.
  public func forget(_ keys: DeveloperCredentials) {
    guard kept == keys else { return }
    if let read, isWithin(.seconds(5), of: read) { return }
    kept = nil
  }

  /// False where the clock was set back meanwhile.
  private func isWithin(_ time: Interval, of start: Timestamp) -> Bool {
    let age = now() - start
    return age >= .seconds(0) && age < time
  }

  private func isFresh(_ keys: DeveloperCredentials) -> Bool {
    if let end = keys.end { return end - now() > .minutes(5) }
    // A file may be changed by hand.
    guard case .file = source else { return true }
    return read.map { isWithin(.minutes(1), of: $0) } ?? false
  }

  private static func keys(from source: Source) async throws -> DeveloperCredentials {
    do {
      switch source {
      case .environment(let variables):
        return try DeveloperCredentials(environment: { variables[$0] })
      case .file(let path):
        guard let bytes = try? Data(contentsOf: URL(filePath: path)) else {
          throw Failure(description: "\(path) cannot be read")
        }
        return try DeveloperCredentials(file: Secret(Array(bytes)), section: "default", path: path)
      case .process(let command):
        return try DeveloperCredentials(processOutput: Secret(try await output(of: command)))
      }
    } catch let error as InvalidInput {
      throw Failure(description: "\(error)")
    }
  }

  private static func output(of command: [String]) async throws -> [UInt8] {
    let outcome: ProgramRun
    do {
      outcome = try await ProgramRun.of(
        command, within: AuthCore.Limits.processTime, upTo: AuthCore.Limits.processBytes)
    } catch {
      throw Failure(description: "\(command[0]): \(error)")
    }
    guard outcome.isSuccess else {
      let said = outcome.errors.split(whereSeparator: \.isNewline).first ?? ""
      throw Failure(description: "\(command[0]) failed: \(said.prefix(200))")
    }
    return Array(outcome.output.utf8)
  }
}

extension DeveloperCredentials {
  /// Nil for those that last.
  public var end: Timestamp? { expiration.map { Timestamp($0) } }
}
