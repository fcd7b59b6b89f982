import ArgumentParser
import AuthCore
import AuthStore
import FoundationEssentials
import Glibc

extension AuditCommand {
  struct Archive: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Move old entries into a signed file; the chains start behind them then.")
    @OptionGroup var common: Common
    @Option(help: "Entries from then on stay: 2026-01-31, 2026-01-31T12:00:00Z, or 90d.")
    var before: String
    @Option(help: "The file with the key that signs; made where there is none.")
    var key = "/etc/credd-authserver/audit.key"
    @Argument(help: "A file that is not there yet.") var file: String

    func run() async throws {
      let time = try AuditTime.read(before, "--before")
      guard time <= .now else { throw Failed("--before \(before) has not come yet", .usage) }
      _ = try common.read()
      // Root opens root's files before the command goes on as the database's owner: the server must
      // have neither the key nor the archive.
      let key = try SigningKeyFile(key).read()
      let new = try NewFile(file)
      try await common.withStore { store, _ in
        // What an earlier call has left.
        let left = try await store.removeArchived()
        let starts = try await store.auditStarts()
        var archive = try OpenArchive(new, before: time)
        let heads = try await store.oldEntries(before: time) { try archive.add($0) }
        guard archive.entries > 0 else {
          let more = left == 0 ? "" : "; \(left) entries of an earlier archive are removed now"
          return try common.say(
            "no entry is older than \(time.iso8601): nothing was archived\(more)",
            ["entries": .number(0), "removed": .number(Int64(left))])
        }
        let sha256 = try archive.end(key)
        let members = [
          "archive": file.split(separator: "/").last.map(String.init) ?? file,
          "before": time.iso8601, "entries": String(archive.entries), "sha256": sha256,
          "key": key.publicKey,
        ]
        let trail = common.trail("archived", members)
        try await Self.start(store, heads, starts, trail, new)
        try common.say(
          "\(file) has \(archive.entries) entries; it is signed by the key \(key.publicKey)",
          [
            "file": .text(file), "entries": .number(archive.entries), "sha256": .text(sha256),
            "key": .text(key.publicKey),
          ])
      }
    }

    /// Removes the entries once the file is in its place. If it is sure that the entries stay, the
    /// file is taken away.
    private static func start(
      _ store: AuthStore, _ heads: [AuditHead], _ starts: [AuditHead], _ trail: AuditTrail,
      _ file: NewFile
    ) async throws {
      do {
        guard try await store.startAudit(after: heads, insteadOf: starts, trail: trail) else {
          throw Failed("another archive was made meanwhile: start again", .unavailable)
        }
      } catch StoreError.unavailable(let reason) {
        // If the answer to a commit was lost, the commit may have happened.
        throw Failed(
          "\(reason): \(file.path) stays, because the audit may start behind it now: 'audit list "
            + "--event archived' tells; if it does not name the file, remove it", .unavailable)
      } catch {
        file.withdraw()
        throw error
      }
      Common.log(heads)
      do { try await store.removeArchived() } catch let error as StoreError {
        throw Failed(
          "\(file.path) is whole, but some of its entries are in the database still: \(error); the "
            + "next 'audit archive' removes them", .unavailable)
      }
    }
  }
}

/// An archive that is being written.
private struct OpenArchive {
  private let file: NewFile
  private var writer: AuditArchiveWriter
  private var buffer: [UInt8]

  var entries: Int64 { writer.entries }

  init(_ file: NewFile, before time: Timestamp) throws {
    self.file = file
    writer = try AuditArchiveWriter()
    buffer = try writer.first(before: time)
  }

  mutating func add(_ entry: AuditEntry) throws {
    buffer += try writer.line(entry)
    guard buffer.count > 1 << 18 else { return }
    try file.write(buffer)
    buffer = []
  }

  /// - Returns: the digest that is signed.
  mutating func end(_ key: ArchiveKey) throws -> String {
    try file.write(buffer + writer.last(key))
    _ = try file.publish()
    return writer.sha256
  }
}

/// The key that signs archives, in a file for its owner alone.
private struct SigningKeyFile {
  private let path: String

  init(_ path: String) { self.path = path }

  func read() throws -> ArchiveKey {
    if unsafe access(path, F_OK) != 0, errno == ENOENT {
      var random = SystemRandomNumberGenerator()
      let file = try NewFile(path)
      try file.write(Array(ArchiveKey.file(&random).utf8))
      _ = try file.publish()
    }
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw Failed("the key \(path) cannot be read", .unavailable)
    }
    // Another user who can write the file could sign too. A user who made the file knows the key.
    var state = stat()
    guard unsafe stat(path, &state) == 0, [0, geteuid()].contains(state.st_uid),
      state.st_mode & 0o077 == 0
    else { throw Failed("the key \(path) is not yours alone: chown it, and chmod 600 it") }
    guard let key = ArchiveKey(file: text) else {
      throw Failed("\(path) holds no key: 64 hexadecimal digits and a line's end")
    }
    return key
  }
}
