import CredCore
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CredRuntime

struct ListeningSocketTests {
  private let folder: TemporaryFolder
  private let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = "\(folder.path)/s"
  }

  private func exists() -> Bool {
    unsafe access(path, F_OK) == 0
  }

  @Test func `the socket has its mode, is reachable, and is removed at the end`() throws {
    do {
      let bound = try ListeningSocket(path: path, mode: 0o620)
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      expect(attributes[.posixPermissions] as? Int, equals: 0o620)
      expect((try? Socket(path: path)) != nil)
      _ = bound.descriptor
    }
    expect(!exists())
  }

  @Test func `a file that is not its own is left alone`() throws {
    do {
      let bound = try ListeningSocket(path: path, mode: 0o600)
      unsafe unlink(path)
      try folder.write("s", "another's")
      _ = bound.descriptor
    }
    expect(try String(contentsOfFile: path, encoding: .utf8), equals: "another's")
  }

  @Test func `a stale socket is replaced`() throws {
    do { _ = try Socket.listening(at: path) }
    expect(exists())
    let bound = try ListeningSocket(path: path, mode: 0o600)
    expect((try? Socket(path: path)) != nil)
    _ = bound.descriptor
  }

  @Test func `a live socket is left to its daemon`() throws {
    let live = try Socket.listening(at: path)
    expect(failure(), equals: EADDRINUSE)
    expect((try? Socket(path: path)) != nil)
    _ = live
  }

  @Test func `what is no socket is left alone`() throws {
    try folder.write("s", "a file")
    expect(failure(), equals: EEXIST)
    expect(exists())
    unsafe unlink(path)
    unsafe symlink("/dev/null", path)
    expect(failure(), equals: EEXIST)
    expect(exists())
  }

  @Test func `a path that is too long is refused`() throws {
    let long = "\(folder.path)/\(String(repeating: "x", count: 100))"
    expect(failure(long), equals: ENAMETOOLONG)
  }

  @Test func `a folder that is not there is an error`() {
    expect(failure("\(folder.path)/none/s"), equals: ENOENT)
  }

  /// The errno of binding.
  private func failure(_ other: String? = nil) -> Int32? {
    do throws(SystemError) {
      _ = try ListeningSocket(path: other ?? path, mode: 0o600)
      return nil
    } catch {
      return error.number
    }
  }
}
