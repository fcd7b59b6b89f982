public import AuthCore
import CArgon2
import NIOPosix
import Synchronization

/// Argon2id by libargon2, on threads of its own: a hash takes milliseconds and megabytes, so only a
/// few are computed at once and only so many may wait.
public final class PasswordHasher: Sendable {
  /// OWASP's second choice for Argon2id, and the least that the server accepts.
  public struct Parameters: Sendable, Equatable {
    public var memory: UInt32 = 19 * 1024
    public var passes: UInt32 = 2
    public var lanes: UInt32 = 1

    public init() {}

    var prefix: String { "$argon2id$v=19$m=\(memory),t=\(passes),p=\(lanes)$" }
  }

  private let parameters: Parameters
  private let threads: NIOThreadPool
  private let metrics: Metrics
  private let waiting = Mutex(0)
  /// Of a password that nobody has: compared with where a user is unknown.
  private let placeholder: String

  public init(threads count: Int, parameters: Parameters = Parameters(), metrics: Metrics) throws {
    self.parameters = parameters
    self.metrics = metrics
    threads = NIOThreadPool(numberOfThreads: count)
    threads.start()
    placeholder = try Self.hash(Self.randomBytes(32).map { $0 | 1 }, parameters)
  }

  public func close() async { try? await threads.shutdownGracefully() }

  /// - Parameter places: of those that may wait. Registrations, which anybody may try, leave half of
  ///   them to sign-ins.
  public func hash(
    _ password: String, places: Int = Limits.waitingHashes
  ) async throws -> String {
    let parameters = parameters
    let password = PasswordRules.normal(password)
    return try await run(places) { try Self.hash(Array(password.utf8), parameters) }
  }

  /// Whether the password is right. Without a hash the same work is done, and the answer is no. What
  /// could not be computed, for want of memory or because the hash is damaged, is no wrong password.
  public func verify(_ password: String, _ hash: String?) async throws -> Bool {
    let text = hash ?? placeholder
    let password = PasswordRules.normal(password)
    let code = try await run(Limits.waitingHashes) {
      unsafe Array(password.utf8).withUnsafeBytes { bytes in
        unsafe argon2id_verify(text, bytes.baseAddress, bytes.count)
      }
    }
    switch code {
    case ARGON2_OK.rawValue: return hash != nil
    case ARGON2_VERIFY_MISMATCH.rawValue: return false
    default: throw Self.failure(code)
    }
  }

  /// Whether a hash was made with other parameters than today's.
  public func isOutdated(_ hash: String) -> Bool { !hash.hasPrefix(parameters.prefix) }

  private func run<T: Sendable>(
    _ places: Int, _ body: @escaping @Sendable () throws -> T
  ) async throws -> T {
    let isTooMuch = waiting.withLock { count in
      guard count < places else { return true }
      count += 1
      show(count)
      return false
    }
    guard !isTooMuch else {
      throw Refusal(503, "Busy", "too many sign-ins at once", retryAfter: 2)
    }
    defer {
      waiting.withLock { count in
        count -= 1
        show(count)
      }
    }
    metrics.count(.hashes)
    return try await threads.runIfActive { try body() }
  }

  private func show(_ count: Int) {
    metrics.set(.hashesWaiting, to: Double(count))
  }

  private static func failure(_ code: Int32) -> Refusal {
    Refusal(503, "Busy", "the password could not be hashed (\(code))", retryAfter: 5)
  }

  private static func randomBytes(_ count: Int) -> [UInt8] {
    var random = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
  }

  private static func hash(_ password: [UInt8], _ parameters: Parameters) throws -> String {
    let salt = randomBytes(16)
    var encoded = [CChar](repeating: 0, count: 128)
    let code = unsafe encoded.withUnsafeMutableBufferPointer { output in
      unsafe password.withUnsafeBytes { password in
        unsafe salt.withUnsafeBytes { salt in
          unsafe argon2id_hash_encoded(
            parameters.passes, parameters.memory, parameters.lanes, password.baseAddress,
            password.count, salt.baseAddress, salt.count, 32, output.baseAddress, output.count)
        }
      }
    }
    guard code == ARGON2_OK.rawValue else {
      throw failure(code)
    }
    return String(decoding: encoded.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
