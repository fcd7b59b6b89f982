import ArgumentParser
import AuthCore
import AuthStore

struct AuditCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Who vouched for whom.", subcommands: [List.self, Verify.self])

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Show the latest entries.")
    @OptionGroup var common: Common
    @Option(help: "How many.") var limit = 50
    @Option(help: "Of one kind alone, as token or refused.") var event: String?

    func run() async throws {
      try await common.withStore { store, _ in
        let entries = try await store.auditEntries(latest: max(1, limit), AuditFilter(event: event))
        try common.show(
          ["time", "chain", "sequence", "event", "detail"],
          entries.map {
            [
              .text($0.time.iso8601), .text($0.chain), .number($0.sequence), .text($0.event),
              .text($0.detail),
            ]
          })
      }
    }
  }

  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Follow all chains from their start; exit status 1 where one is broken.")
    @OptionGroup var common: Common
    @Option(help: "An end that the log has kept, CHAIN:SEQUENCE:HASH; may be given again.")
    var head: [String] = []

    func run() async throws {
      let heads = try head.map { text in
        guard let head = AuditHead(text) else { throw Failed("\(text) is not CHAIN:SEQUENCE:HASH") }
        return head
      }
      try await common.withStore { store, _ in
        let (ends, faults) = try await store.verifyAudit(heads: heads)
        try common.show(
          ["chain", "entries", "hash"],
          ends.map { [.text($0.chain), .number($0.sequence), .text($0.hash)] })
        guard faults.isEmpty else { throw Failed(faults.joined(separator: "\n"), .negative) }
      }
    }
  }
}
