import Foundation
import Glibc
import TestSupport

/// A program run to its end.
enum Command {
  struct Outcome {
    /// The exit status, or 128 and the signal's number.
    var status: Int32
    var output: String
    var errors: String
  }

  /// Runs `words` with `input` as standard input.
  static func run(_ words: [String], input: String = "") throws -> Outcome {
    let streams = try (0..<3).map { _ in try UnnamedFile() }
    try streams[0].write(input)
    let pid = try spawn(words, streams.map(\.descriptor))
    var status: Int32 = 0
    while unsafe waitpid(pid, &status, 0) < 0 {
      guard errno == EINTR else { throw CallFailed("waitpid") }
    }
    return Outcome(
      status: status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F),
      output: streams[1].content, errors: streams[2].content)
  }

  /// Starts `words` in a session of its own: a ^C at the terminal is for the tests, not for it.
  ///
  /// - Parameter streams: what becomes its standard input, output and error.
  static func spawn(_ words: [String], _ streams: [Int32]) throws -> pid_t {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for (number, stream) in streams.enumerated() {
      unsafe posix_spawn_file_actions_adddup2(&actions, stream, Int32(number))
    }
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    // A thread of Dispatch has most signals blocked; a program starts with none.
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &signals)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | 0x80))
    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    let variables = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"]
    var environment = unsafe variables.map { unsafe strdup($0) } + [nil]
    defer {
      unsafe arguments.forEach { unsafe free($0) }
      unsafe environment.forEach { unsafe free($0) }
    }
    var pid: pid_t = 0
    let result = unsafe posix_spawnp(
      &pid, words[0], &actions, &attributes, &arguments, &environment)
    guard result == 0 else { throw CallFailed("start \(words[0])", result) }
    return pid
  }
}

/// A file without a name, for the streams of a program.
@safe
final class UnnamedFile {
  private let stream: UnsafeMutablePointer<FILE>

  init() throws {
    guard let stream = unsafe tmpfile() else { throw CallFailed("tmpfile") }
    unsafe self.stream = stream
  }

  deinit { unsafe fclose(stream) }

  var descriptor: Int32 { unsafe fileno(stream) }

  /// Puts `text` where a reader of the descriptor begins.
  func write(_ text: String) throws {
    let bytes = Array(text.utf8)
    let count = unsafe bytes.withUnsafeBytes {
      unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0)
    }
    guard count == bytes.count else { throw CallFailed("write") }
  }

  var content: String {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = unsafe chunk.withUnsafeMutableBytes {
        unsafe pread(descriptor, $0.baseAddress, $0.count, bytes.count)
      }
      guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
      bytes += chunk[..<count]
    }
  }
}
