internal import CCrypto
internal import CCurl
internal import CredCore
internal import CredService
internal import Logging

/// A library, loaded in the background when it is first needed. libcurl and its libraries take 10
/// ms, half the time of a start.
final class Library {
  /// The time for loading; only a disk that hangs takes longer.
  private static let timeout: Duration = .seconds(30)

  enum Name: String, Sendable {
    case curl = "libcurl"
    case crypto = "libcrypto"

    /// Loads the library if needed. Blocks: call it on a thread.
    ///
    /// - Returns: the problem; nil if the library is loaded.
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

  private enum State {
    case absent
    case loading
    /// Loading has missed its deadline and goes on. A second attempt would wait for the same disk.
    case hanging
    case loaded
  }

  private let name: Name
  private let clock: any Clock
  private let background: any Background
  private let log: Logger
  private var state = State.absent
  /// Callers that wait for the library.
  private var waiting: [(Bool) -> Void] = []

  init(_ name: Name, clock: any Clock, background: any Background, log: Logger) {
    self.name = name
    self.clock = clock
    self.background = background
    self.log = log
  }

  /// Loads the library if needed. If that fails, the reason is logged and the completion gets
  /// false; the next call tries again. If the result is known already, the completion runs at once.
  func load(completion: @escaping (Bool) -> Void) {
    switch state {
    case .loaded: completion(true)
    case .hanging: completion(false)
    case .loading: waiting.append(completion)
    case .absent:
      waiting.append(completion)
      state = .loading
      start()
    }
  }

  private func start() {
    background.run(.libraries, deadline: clock.now + Self.timeout) { [name] in
      name.load()
    } completion: { [unowned self] outcome in
      switch outcome {
      case .finished(let problem):
        state = problem == nil ? .loaded : .absent
        finish(problem)
      case .overdue(let isRunning):
        state = isRunning ? .hanging : .absent
        finish("it took too long")
      }
    }
  }

  private func finish(_ problem: String?) {
    if let problem {
      log.error(
        "\(name.rawValue) cannot be loaded, and calls that need it fail: reinstall its package",
        metadata: ["reason": "\(problem)"])
    }
    let done = waiting
    waiting = []
    for completion in done { completion(problem == nil) }
  }
}

/// libcrypto, loaded when it is needed.
final class CryptoLibrary: CryptoLoading {
  private let library: Library

  init(clock: any Clock, background: any Background, log: Logger) {
    library = Library(.crypto, clock: clock, background: background, log: log)
  }

  func load(completion: @escaping ((any Crypto)?) -> Void) {
    library.load { completion($0 ? Libcrypto() : nil) }
  }
}

/// The hash functions and the cipher, from libcrypto. Make this value only after the library is
/// loaded: see ``CryptoLibrary``.
struct Libcrypto: Digests, BlockCipher {
  private static let digestSize = Int(CREDD_SHA256_SIZE)
  private static let blockSize = Int(CREDD_AES_BLOCK_SIZE)

  func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Self.digestSize)
    let result = unsafe credd_sha256(bytes, bytes.count, &digest)
    precondition(result == 0, "no memory is left for a digest")
    return digest
  }

  /// The digest of the first `size` bytes of a file; nil if the file has fewer bytes. Blocks: call
  /// it on a thread.
  func sha256(ofFile descriptor: Int32, size: Int64) -> [UInt8]? {
    var digest = [UInt8](repeating: 0, count: Self.digestSize)
    return unsafe credd_sha256_file(descriptor, size, &digest) == 0 ? digest : nil
  }

  func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: Self.digestSize)
    let result = unsafe credd_hmac_sha256(key, key.count, message, message.count, &code)
    precondition(result == 0, "no memory is left for a message's code")
    return code
  }

  func decryptAES128CBC(_ ciphertext: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]? {
    guard key.count == Self.blockSize, iv.count == Self.blockSize,
      let length = Int32(exactly: ciphertext.count)
    else { return nil }
    var text = [UInt8](repeating: 0, count: ciphertext.count + Self.blockSize)
    let count = unsafe credd_aes128_cbc_decrypt(key, iv, ciphertext, length, &text)
    guard count >= 0 else { return nil }
    text.removeSubrange(Int(count)...)
    return text
  }
}
