import Foundation
import Glibc
import Testing
import TestSupport

/// `exit_on_idle`: the daemon ends, its sessions do not.
@Suite(.onStage)
struct IdleTests {
  /// A folder in memory, or on a disk.
  private func folder(inMemory: Bool) throws -> String {
    let place = inMemory ? "/dev/shm" : "/var/tmp"
    var template = Array("\(place)/credd-idle-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else { throw CallFailed("mkdtemp") }
    return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private func host(_ folder: String) throws -> TestHost {
    try TestHost(environment: ["RUNTIME_DIRECTORY": folder], managed: true) {
      Configuration.usual($0, daemon: "exit_on_idle = 1s")
    }
  }

  /// What systemd 252 does when a service ends by itself, and what it does when a client connects.
  private func startNext(_ host: TestHost) throws {
    #expect(try host.daemon.wait() == 0)
    host.manager?.emptyStore()
    try host.startAgain()
  }

  @Test
  func theNextConnectionFindsItsSessionsAgain() throws {
    let folder = try folder(inMemory: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let host = try host(folder)
    let before = try host.ask()
    #expect(before["AccessKeyId"] != nil)
    #expect(try host.daemon.wait() == 0)
    // No other user can read what is stored there.
    var status = stat()
    #expect(unsafe stat("\(folder)/sessions", &status) == 0)
    #expect(status.st_mode & 0o7777 == 0o600)
    try startNext(host)
    #expect(try host.ask() == before)
    #expect(try host.sandbox.callbacks == 1)
    #expect(try host.sandbox.exchanges == 1)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    // And once more: it is in store again.
    #expect(host.manager?.stored.count == 1)
    try startNext(host)
    #expect(try host.ask() == before)
    #expect(try host.sandbox.callbacks == 1)
  }

  @Test
  func noSecretGoesToADisk() throws {
    let folder = try folder(inMemory: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let host = try host(folder)
    #expect(try host.ask()["AccessKeyId"] != nil)
    #expect(try host.daemon.wait() == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    #expect(host.log.contains("the sessions may end with this daemon"))
    try startNext(host)
    #expect(try host.ask()["AccessKeyId"] != nil)
    #expect(try host.sandbox.callbacks == 2)
  }

  @Test(arguments: ["", "not a store", String(repeating: "x", count: 100_000)])
  func whatIsNoStoreIsDroppedWithAWarning(_ content: String) throws {
    let folder = try folder(inMemory: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let file = URL(filePath: folder + "/sessions")
    try Data(content.utf8).write(to: file)
    unsafe chmod(file.path, 0o600)
    let host = try host(folder)
    #expect(try host.ask()["AccessKeyId"] != nil)
    #expect(host.log.contains("warning: stored sessions cannot be used"))
    #expect(!FileManager.default.fileExists(atPath: file.path))
  }

  @Test
  func aFileThatOthersCanReadIsNotTrusted() throws {
    let folder = try folder(inMemory: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let file = URL(filePath: folder + "/sessions")
    try Data("x".utf8).write(to: file)
    unsafe chmod(file.path, 0o644)
    let host = try host(folder)
    #expect(host.log.contains("warning: parked sessions cannot be used"))
    #expect(try host.ask()["AccessKeyId"] != nil)
  }
}
