internal import CCrypto
internal import CCurl
internal import Logging

/// A library that is loaded at need, on a thread: what libcurl brings along takes 10 ms, and would
/// be half of a start.
///
/// The wait has no deadline of its own: the library is a file like the program itself.
final class LateLibrary {
  enum Name: String, Sendable {
    case curl = "libcurl"
    case crypto = "libcrypto"

    /// Loads it unless it is. Blocks: for threads alone.
    ///
    /// - Returns: what stands in the way; nil where it is loaded.
    func load() -> String? {
      var reason = [CChar](repeating: 0, count: 512)
      let result =
        switch self {
        case .curl: unsafe credd_curl_load(&reason, reason.count)
        case .crypto: unsafe credd_crypto_load(&reason, reason.count)
        }
      guard result < 0 else { return nil }
      return String(
        decoding: reason.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
  }

  private let name: Name
  private let loop: EventLoop
  private let log: Logger
  private var isLoaded = false
  private var isLoading = false
  /// Who came while it is loaded.
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(_ name: Name, loop: EventLoop, log: Logger) {
    self.name = name
    self.loop = loop
    self.log = log
  }

  /// False where it cannot be loaded, which the log explains. Who asks next tries again.
  func load() async -> Bool {
    guard !isLoaded else { return true }
    guard !isLoading else {
      await withCheckedContinuation { waiting.append($0) }
      return isLoaded
    }
    isLoading = true
    let problem = await loadAside()
    isLoading = false
    isLoaded = problem == nil
    if let problem {
      log.error("\(name.rawValue) cannot be loaded", metadata: ["reason": "\(problem)"])
    }
    for continuation in waiting { continuation.resume() }
    waiting = []
    return isLoaded
  }

  private func loadAside() async -> String? {
    let name = name
    return await withCheckedContinuation { continuation in
      do throws(SystemError) {
        try loop.runAside({ name.load() }, then: { continuation.resume(returning: $0) })
      } catch {
        // Where the host has no thread left, a pause is better than no answer.
        continuation.resume(returning: name.load())
      }
    }
  }
}
