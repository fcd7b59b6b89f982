internal import CCurl

/// libcurl, which is not loaded before somebody is called.
enum CurlLibrary {
  /// Loads it unless it is, on a thread: 30 libraries take 10 ms.
  ///
  /// - Returns: what stands in the way; nil where it is loaded.
  static func load(besides loop: EventLoop) async -> String? {
    await withCheckedContinuation { continuation in
      do throws(SystemError) {
        try loop.runAside({ load() }, then: { continuation.resume(returning: $0) })
      } catch {
        // Where the host has no thread left, a pause is better than no answer.
        continuation.resume(returning: load())
      }
    }
  }

  private static func load() -> String? {
    var reason = [CChar](repeating: 0, count: 512)
    guard unsafe credd_curl_load(&reason, reason.count) < 0 else { return nil }
    return String(
      decoding: reason.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
