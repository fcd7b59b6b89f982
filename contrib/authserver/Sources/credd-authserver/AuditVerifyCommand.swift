import ArgumentParser
import AuthCore
import AuthStore

extension AuditCommand {
  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Follow all chains from their start; exit status 1 where one is broken.")
    @OptionGroup var common: Common
    @Option(help: "An end that the log has kept, CHAIN:SEQUENCE:HASH; may be given again.")
    var head: [String] = []
    @Option(help: "A file with lines of the log; - is standard input; may be given again.")
    var heads: [String] = []
    @Option(help: "A file that 'audit archive' has made; may be given again.")
    var archive: [String] = []
    @Option(help: "A key that archives are signed by, in place of those that the audit names.")
    var key: [String] = []

    func run() async throws {
      var kept = try head.map { text in
        guard let head = AuditHead(text) else {
          throw Failed("--head \(text.visible) is not CHAIN:SEQUENCE:HASH", .usage)
        }
        return head
      }
      for file in heads { kept += try LoggedHeads.read(file) }
      let known = kept
      // Root's own files are opened by root.
      let opened = try archive.map { (name: $0, lines: try Lines($0)) }
      try await common.withStore(.read, isOfAudit: true) { store, _ in
        let keys = try await keys(store)
        var chains: [ArchivedChain] = []
        var faults: [String] = []
        for (file, lines) in opened {
          var reader = AuditArchiveReader(heads: known)
          for line in lines { reader.take(line) }
          if let fault = lines.fault { throw fault }
          chains += reader.finish(keys: keys)
          if let fault = reader.fault { faults.append("\(file): \(fault)") }
        }
        let (ends, wrong) = try await store.verifyAudit(heads: known, archives: chains)
        try common.show(
          ["chain", "entries", "hash"],
          ends.map { [.text($0.chain), .number($0.sequence), .text($0.hash)] })
        faults += wrong
        guard faults.isEmpty else { throw Failed(faults.joined(separator: "\n"), .negative) }
      }
    }

    /// The keys of the command line. If there are none, the keys that the audit names.
    private func keys(_ store: AuthStore) async throws -> Set<String> {
      // Given keys count alone, because a person who writes the database can name a key in it.
      guard !archive.isEmpty, key.isEmpty else { return Set(key) }
      let entries = try await store.auditEntries(latest: 10_000, AuditFilter(event: "archived"))
      return Set(entries.compactMap { $0.member("key") })
    }
  }
}

/// The ends of chains that the server's log has. Each line has one JSON object, and anything may
/// stand before it.
enum LoggedHeads {
  static func read(_ file: String) throws -> [AuditHead] {
    let lines = try Lines(file)
    var heads: [AuditHead] = []
    for (index, line) in lines.enumerated() {
      let text = String(decoding: line, as: UTF8.self)
      guard text.contains(#""message":"audit head""#), let start = text.firstIndex(of: "{") else {
        continue
      }
      let object = try? JSONObject(Array(text[start...].utf8))
      guard let head = (try? object?.text("head")).flatMap({ AuditHead($0) }) else {
        throw Failed("\(file):\(index + 1): this 'audit head' names no CHAIN:SEQUENCE:HASH")
      }
      heads.append(head)
    }
    if let fault = lines.fault { throw fault }
    guard !heads.isEmpty else {
      throw Failed(
        "\(file) has no 'audit head': journalctl -t credd-authserver -o cat writes the log's lines")
    }
    return heads
  }
}
