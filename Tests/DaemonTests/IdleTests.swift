import Foundation
import Glibc
import Testing
import TestSupport

@testable import DaemonHarness

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
    expect(try host.daemon.wait(), equals: 0)
    host.manager?.emptyStore()
    try host.startAgain()
  }

  @Test
  func theNextConnectionFindsItsSessionsAgain() throws {
    let folder = try folder(inMemory: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let host = try host(folder)
    let before = try host.ask()
    expect(before["AccessKeyId"] != nil)
    expect(try host.daemon.wait(), equals: 0)
    // No other user can read what is stored there.
    var status = stat()
    expect(unsafe stat("\(folder)/sessions", &status), equals: 0)
    expect(status.st_mode & 0o7777, equals: 0o600)
    try startNext(host)
    expect(try host.ask(), equals: before)
    expect(try host.sandbox.callbacks, equals: 1)
    expect(try host.sandbox.exchanges, equals: 1)
    expect(try FileManager.default.contentsOfDirectory(atPath: folder), equals: [])
    // And once more: it is in store again.
    expect(host.manager?.stored.count, equals: 1)
    try startNext(host)
    expect(try host.ask(), equals: before)
    expect(try host.sandbox.callbacks, equals: 1)
  }

  /// The next daemon would know nothing of it, and whoever guesses would only have to wait a second.
  @Test
  func aWrongPasswordKeepsItAlive() throws {
    let folders = [try folder(inMemory: true), try folder(inMemory: true)]
    defer { for folder in folders { try? FileManager.default.removeItem(atPath: folder) } }
    func host(_ folder: String) throws -> TestHost {
      try TestHost(environment: ["RUNTIME_DIRECTORY": folder], managed: true) {
        "[daemon]\nexit_on_idle = 1s\n" + Configuration.password($0)
      }
    }
    let guessed = try host(folders[0])
    expect(try guessed.logIn("alice", password: "wrong").errorCode, equals: "SignInFailed")
    // Somebody has asked this one last.
    let other = try host(folders[1])
    expect(try other.logIn("alice").state, equals: "signedIn")
    expect(try other.daemon.wait(), equals: 0)
    expect(guessed.daemon.status == nil)
  }

  /// No secret goes to a disk, and none ends with the process either.
  @Test
  func whereItsSessionsCannotWaitItStays() throws {
    let folder = try folder(inMemory: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let host = try host(folder)
    let before = try host.ask()
    expect(before["AccessKeyId"] != nil)
    try Deadline.usual.wait(for: "the warning") {
      host.log.contains(
        "warning: exit_on_idle: credd stays, because its sessions would end with it: ")
    }
    expect(try FileManager.default.contentsOfDirectory(atPath: folder), equals: [])
    expect(host.daemon.status == nil)
    expect(try host.ask(), equals: before)
    expect(try host.sandbox.callbacks, equals: 1)
  }

  /// Nothing is lost with it.
  @Test
  func withoutASessionItEndsAnywhere() throws {
    let folder = try folder(inMemory: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let host = try host(folder)
    expect(try host.daemon.wait(), equals: 0)
    expect(!host.log.contains("credd stays"), "\(host.log)")
  }

  @Test(arguments: ["", "not a store", String(repeating: "x", count: 100_000)])
  func whatIsNoStoreIsDroppedWithAWarning(_ content: String) throws {
    let folder = try folder(inMemory: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let file = URL(filePath: folder + "/sessions")
    try Data(content.utf8).write(to: file)
    unsafe chmod(file.path, 0o600)
    let host = try host(folder)
    expect(try host.ask()["AccessKeyId"] != nil)
    expect(host.log.contains("warning: stored sessions cannot be used"))
    expect(!FileManager.default.fileExists(atPath: file.path))
  }

  @Test
  func aFileThatOthersCanReadIsNotTrusted() throws {
    let folder = try folder(inMemory: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let file = URL(filePath: folder + "/sessions")
    try Data("x".utf8).write(to: file)
    unsafe chmod(file.path, 0o644)
    let host = try host(folder)
    expect(host.log.contains("warning: parked sessions cannot be used"))
    expect(try host.ask()["AccessKeyId"] != nil)
  }
}
