public import AuthCore
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
  private var kept: AWSKeys?
  private var read: Timestamp?
  private var reading: Task<AWSKeys, any Error>?
  /// The last failure is the answer for a moment, so that a broken source is not asked for each
  /// callback.
  private var failure: (error: any Error, time: Timestamp)?

  public init(_ source: Source, now: @escaping @Sendable () -> Timestamp) {
    self.source = source
    self.now = now
  }

  /// Good for another five minutes, if the source has such.
  public func keys() async throws -> AWSKeys {
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
      if let kept, let end = kept.expires, now() < end { return kept }
      failure = (error, now())
      throw error
    }
  }

  /// Cognito has refused them: the next call reads them anew. A source that gives wrong ones is not
  /// asked for each callback either.
  public func forget(_ keys: AWSKeys) {
    guard kept == keys else { return }
    if let read, isWithin(.seconds(5), of: read) { return }
    kept = nil
  }

  /// False where the clock was set back meanwhile.
  private func isWithin(_ time: Interval, of start: Timestamp) -> Bool {
    let age = now() - start
    return age >= .seconds(0) && age < time
  }

  private func isFresh(_ keys: AWSKeys) -> Bool {
    if let end = keys.expires { return end - now() > .minutes(5) }
    // A file may be changed by hand.
    guard case .file = source else { return true }
    return read.map { isWithin(.minutes(1), of: $0) } ?? false
  }

  private static func keys(from source: Source) async throws -> AWSKeys {
    switch source {
    case .environment(let variables):
      guard let id = variables["AWS_ACCESS_KEY_ID"],
        let secret = variables["AWS_SECRET_ACCESS_KEY"],
        !id.isEmpty, !secret.isEmpty
      else {
        throw Failure(
          description: "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set; [aws] may name "
            + "credentials_file or credential_process instead")
      }
      return AWSKeys(
        accessKeyID: id, secretAccessKey: secret, sessionToken: variables["AWS_SESSION_TOKEN"])
    case .file(let path):
      let text: String
      do { text = try String(contentsOf: URL(filePath: path), encoding: .utf8) } catch {
        throw Failure(description: "\(path) cannot be read")
      }
      return try keys(file: text, path)
    case .process(let command): return try await keys(command: command)
    }
  }

  /// The profile `default` of a file in the form of `~/.aws/credentials`.
  static func keys(file text: String, _ path: String) throws -> AWSKeys {
    var values: [String: String] = [:]
    var isDefault = false
    for line in text.split(whereSeparator: \.isNewline) {
      if line.hasPrefix("[") { isDefault = line.filter { $0 != " " } == "[default]" }
      let parts = line.split(separator: "=", maxSplits: 1).map { $0.filter { !$0.isWhitespace } }
      if isDefault, parts.count == 2 { values[parts[0].lowercased()] = parts[1] }
    }
    guard let id = values["aws_access_key_id"], let secret = values["aws_secret_access_key"] else {
      throw Failure(
        description: "\(path) has no aws_access_key_id and aws_secret_access_key below [default]")
    }
    return AWSKeys(
      accessKeyID: id, secretAccessKey: secret, sessionToken: values["aws_session_token"])
  }

  private struct ProcessOutput: Decodable {
    let Version: Int
    let AccessKeyId: String
    let SecretAccessKey: String
    let SessionToken: String?
    let Expiration: Date?
  }

  private static func keys(command: [String]) async throws -> AWSKeys {
    let name = command[0]
    let outcome: ProgramRun
    do {
      outcome = try await ProgramRun.of(
        command, within: Limits.processTime, upTo: Limits.processBytes)
    } catch {
      throw Failure(description: "\(name): \(error)")
    }
    guard outcome.isSuccess else {
      let said = outcome.errors.split(whereSeparator: \.isNewline).first ?? ""
      throw Failure(description: "\(name) failed: \(said.prefix(200))")
    }
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    guard
      let output = try? decoder.decode(
        ProcessOutput.self, from: Data(outcome.output.utf8)), output.Version == 1
    else { throw Failure(description: "\(name) did not print what a credential_process prints") }
    return AWSKeys(
      accessKeyID: output.AccessKeyId, secretAccessKey: output.SecretAccessKey,
      sessionToken: output.SessionToken, expires: output.Expiration.map(Timestamp.init))
  }
}
