import CredCore
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import CredRuntime
@testable import CredService

struct IdentityFileTests {
  private let key = SessionKey(uid: 1000, profile: "p")

  private func known() throws -> KnownIdentity {
    let line = "1000\tp\talice\tus-east-1:1\t\t{user}\tus-east-1:2\tguest"
    return try #require(KnownIdentity(line: Array(line.utf8)[...]))
  }

  private func text(_ folder: TemporaryFolder, _ name: String = IdentityFile.name) throws -> String
  {
    try String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8)
  }

  private static func file(
    in folder: String, _ loop: EventLoop, _ heard: Heard
  ) throws -> IdentityFile {
    IdentityFile(
      in: folder, clock: try SystemClock(loop: loop, log: heard.logger),
      background: try ThreadBackground(loop: loop, log: Heard().logger), log: heard.logger)
  }

  /// Runs `body` on a loop with the file of a folder.
  private func withFile<R: Sendable>(
    in folder: String, _ heard: Heard = Heard(), _ body: @escaping @Sendable (IdentityFile) -> R
  ) throws -> R {
    let thread = try LoopThread()
    return try thread.run { loop in body(try Self.file(in: folder, loop, heard)) }
  }

  @Test func `what is noted is there after a reboot, for the owner alone`() throws {
    let (folder, known, key) = (try TemporaryFolder(), try known(), key)
    try withFile(in: folder.path) { file in
      file.record(known, for: key)
      file.finish()
    }
    expect(try withFile(in: folder.path) { $0.identity(key) }, equals: known)
    let attributes = try FileManager.default.attributesOfItem(atPath: folder.path + "/identities")
    expect(attributes[.posixPermissions] as? Int, equals: 0o600)
    expect(try FileManager.default.contentsOfDirectory(atPath: folder.path), equals: ["identities"])
    try withFile(in: folder.path) { file in
      file.record(nil, for: key)
      file.finish()
    }
    expect(try text(folder), equals: "credd-identities 1\nend 0\n")
  }

  @Test(arguments: [true, false])
  func `what has the new file's name already is not written to`(_ isSymbolic: Bool) throws {
    let (folder, known, key) = (try TemporaryFolder(), try known(), key)
    let other = folder.path + "/other"
    try "kept".write(toFile: other, atomically: false, encoding: .utf8)
    let planted = folder.path + "/\(IdentityFile.name).new"
    if isSymbolic {
      try FileManager.default.createSymbolicLink(atPath: planted, withDestinationPath: other)
    } else {
      try FileManager.default.linkItem(atPath: other, toPath: planted)
    }
    try withFile(in: folder.path) { file in
      file.record(known, for: key)
      file.finish()
    }
    expect(try text(folder, "other"), equals: "kept")
    expect(try withFile(in: folder.path) { $0.identity(key) }, equals: known)
  }

  @Test func `it is written by itself`() throws {
    let (folder, known, key) = (try TemporaryFolder(), try known(), key)
    let thread = try LoopThread()
    let file = try thread.run { loop in
      let file = try Self.file(in: folder.path, loop, Heard())
      file.record(known, for: key)
      return OnLoop(value: file)
    }
    expect(
      try thread.reaches { _ in
        FileManager.default.fileExists(atPath: folder.path + "/identities")
      })
    thread.stop()
    withExtendedLifetime(file) {}
  }

  @Test func `a damaged file is kept aside, and what is good of it is used`() throws {
    let (folder, known, key, heard) = (try TemporaryFolder(), try known(), key, Heard())
    let line = String(decoding: known.line, as: UTF8.self)
    let damaged = "credd-identities 1\n\(line)\nrubbish\nend 2\n"
    try folder.write("identities", damaged)
    let found = try withFile(in: folder.path, heard) { file in
      file.finish()
      return file.identity(key)
    }
    expect(found, equals: known)
    expect(try text(folder, IdentityFile.damagedName), equals: damaged)
    expect(try text(folder), equals: "credd-identities 1\n\(line)\nend 1\n")
    expect(heard.warnings.count, equals: 1)
    expect(heard.warnings.first?.contains("line 3") == true)
  }

  @Test func `what is no file is set aside too`() throws {
    let (folder, heard) = (try TemporaryFolder(), Heard())
    try folder.write("identities/inside", "")
    try withFile(in: folder.path, heard) { _ in }
    expect(heard.warnings.count, equals: 1)
    expect(FileManager.default.fileExists(atPath: folder.path + "/identities.damaged"))
  }

  @Test func `a disk that fails is said once, and once when it works again`() throws {
    let (folder, known, key, heard) = (try TemporaryFolder(), try known(), key, Heard())
    let missing = folder.path + "/later"
    let failures = try withFile(in: missing, heard) { file in
      var failures: [String?] = []
      file.record(known, for: key)
      file.finish()
      failures.append(file.failure)
      file.finish()
      failures.append(file.failure)
      try? FileManager.default.createDirectory(atPath: missing, withIntermediateDirectories: true)
      file.finish()
      failures.append(file.failure)
      return failures
    }
    expect(failures[0]?.contains("No such file or directory") == true)
    expect(failures[1], equals: failures[0])
    expect(failures[2] == nil)
    expect(heard.warnings.count, equals: 1)
    expect(heard.notices, equals: ["IdentityIds are on disk again"])
    expect(try withFile(in: missing) { $0.identity(key) }, equals: known)
  }
}

/// What was logged.
final class Heard: Sendable {
  private let lines = Mutex<[(Logger.Level, String)]>([])

  var logger: Logger {
    Logger(label: "test") { _ in Handler(heard: self) }
  }

  var warnings: [String] { all(.warning) }
  var notices: [String] { all(.notice) }
  var messages: [String] { lines.withLock { $0.map(\.1) } }

  private func all(_ level: Logger.Level) -> [String] {
    lines.withLock { $0.filter { $0.0 == level }.map(\.1) }
  }

  private struct Handler: LogHandler {
    let heard: Heard
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      heard.lines.withLock { $0.append((event.level, event.message.description)) }
    }
  }
}
