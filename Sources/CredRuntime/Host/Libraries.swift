internal import CCrypto
internal import CCurl
internal import CLinux
internal import CredCore
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
      let known = credd_library_count()
      var reason = [CChar](repeating: 0, count: 512)
      let result =
        switch self {
        case .curl: unsafe credd_curl_load(&reason, reason.count)
        case .crypto: unsafe credd_crypto_load(&reason, reason.count)
        }
      guard result < 0 else {
        // Loading read all their tables, with 64 KB about each page: 4 MB that nobody needs again.
        credd_give_libraries_back(known)
        return nil
      }
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

/// The hash functions and the cipher that the core leaves to a library. Who has one has loaded it:
/// ``LateLibrary``.
struct Libcrypto: Digests, BlockCipher {
  private static let digestSize = Int(CREDD_SHA256_SIZE)
  private static let blockSize = Int(CREDD_AES_BLOCK_SIZE)

  func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Self.digestSize)
    let result = unsafe credd_sha256(bytes, bytes.count, &digest)
    precondition(result == 0, "no memory is left for a digest")
    return digest
  }

  /// The digest of the first `size` bytes of a file; nil where it has fewer. Blocks: for threads
  /// alone.
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
