import CredCore
import Foundation
import TestSupport
import Testing

@testable import CredRuntime
@testable import CredService

/// The sessions while no daemon runs.
struct SessionsFileTests {
  private let key = SessionKey(uid: 1, profile: "p")
  private let log = Heard()

  /// In memory, as the runtime directory is.
  private final class Folder {
    let path: String

    init() throws {
      path = "/dev/shm/credd-file-\(UUID().uuidString)"
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func holds(_ name: String) -> Bool {
      FileManager.default.fileExists(atPath: "\(path)/\(name)")
    }
  }

  /// What a daemon left that ended.
  private func left(_ secret: String, in folder: Folder) throws {
    let sessions = try SessionLog(boot: SessionStore.bootID())
    try sessions.put(try StoredSession.record(1, secret).encoded, for: key)
    try SessionsFile(in: folder.path).put(sessions.descriptor)
    expect(folder.holds("sessions") && !folder.holds("sessions.new"))
  }

  private func take(
    _ folder: Folder, _ open: (([PassedDescriptors.Named]) -> DurableSessions?)? = nil
  ) -> [SessionKey: SessionRecord] {
    let open = open ?? { DurableSessions($0, identities: nil, log: log.logger, isWanted: true) }
    return Daemon.takeSessionsFile(in: folder.path, log: log.logger, open: open)?.load() ?? [:]
  }

  /// The manager may refuse a descriptor, as where FileDescriptorStoreMax= is too small.
  @Test func theFileStaysIfItsSessionsAreStoredNowhereElse() throws {
    let folder = try Folder()
    try left("secret", in: folder)
    let open = { DurableSessions($0, identities: nil, log: self.log.logger, isWanted: false) }
    expect(take(folder, open).isEmpty)
    expect(folder.holds("sessions"))
    expect(take(folder)[key], equals: try StoredSession.record(1, "secret"))
    expect(!folder.holds("sessions"))
  }

  @Test func theFileStaysUntilItsSessionsAreStored() throws {
    let folder = try Folder()
    try left("secret", in: folder)
    var wasThere = false
    let records = take(folder) { parked in
      let storage = DurableSessions(parked, identities: nil, log: log.logger, isWanted: true)
      wasThere = folder.holds("sessions")
      // A daemon that is killed here leaves it to the next.
      let next = try? SessionsFile(in: folder.path).read()
      let second = next.flatMap { $0 }.map {
        PassedDescriptors.Named(descriptor: $0, name: PassedDescriptors.fileName)
      }
      let found = DurableSessions(
        second.map { [$0] } ?? [], identities: nil, log: log.logger, isWanted: true)
      expect(found?.load().count, equals: 1)
      return storage
    }
    expect(wasThere)
    expect(records, equals: [key: try StoredSession.record(1, "secret")])
    expect(!folder.holds("sessions"))
    expect(take(folder).isEmpty)
    expect(log.warnings.isEmpty)
  }

  @Test func anAbandonedCopyIsNoFileOfSessions() throws {
    let folder = try Folder()
    // A daemon that was killed while it copied.
    let isWritten = FileManager.default.createFile(
      atPath: "\(folder.path)/sessions.new", contents: Data("half".utf8),
      attributes: [.posixPermissions: 0o600])
    expect(isWritten)
    expect(take(folder).isEmpty)
    try left("secret", in: folder)
    expect(take(folder).count, equals: 1)
    expect(!folder.holds("sessions.new"))
    expect(log.warnings.isEmpty)
  }
}
