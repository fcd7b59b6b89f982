import ArgumentParser
import AuthCore
import AuthStore
import CredCore

struct AuditCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Who vouched for whom.",
    subcommands: [List.self, Verify.self, Archive.self])

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Show the latest entries.")
    @OptionGroup var common: Common
    @Option(help: "How many.") var limit = 50
    @Option(help: "Of one kind alone, as token or refused.") var event: String?
    @Option(help: "Of one host alone.") var host: String?
    @Option(help: "Of one user alone, as 'user list' shows it.") var user: String?
    @Option(help: "From then on: 2026-01-31, 2026-01-31T12:00:00Z, or 24h for a day ago.")
    var since: String?
    @Option(help: "Before that, in the same form.") var until: String?

    func run() async throws {
      guard limit > 0 else { throw Failed("--limit \(limit) is not a number from 1 on", .usage) }
      var filter = AuditFilter(event: event, host: host, user: user)
      filter.since = try since.map { try AuditTime.read($0, "--since") }
      filter.until = try until.map { try AuditTime.read($0, "--until") }
      try await common.withStore(.read, isOfAudit: true) { store, _ in
        let entries = try await store.auditEntries(latest: limit, filter)
        if entries.isEmpty { try await checkNames(store) }
        try common.show(
          ["time", "chain", "sequence", "event", "detail"],
          entries.map {
            [
              .text($0.time.iso8601), .text($0.chain), .number($0.sequence), .text($0.event),
              common.json ? Cell(members: $0.detail) : .text($0.detail),
            ]
          })
      }
    }

    /// After nothing was found: refuses a name that neither exists nor stands in the audit. The
    /// audit has the names of what was removed.
    private func checkNames(_ store: AuthStore) async throws {
      func isInAudit(_ filter: AuditFilter) async throws -> Bool {
        try await !store.auditEntries(latest: 1, filter).isEmpty
      }
      if let event, !AuditNote.events.contains(event),
        try await !isInAudit(AuditFilter(event: event))
      {
        throw Failed(
          "--event: there is no event \(event.visible)"
            + NearestName.suggestion(
              event, in: AuditNote.events,
              otherwise: "; there is \(AuditNote.events.joined(separator: ", "))"), .usage)
      }
      // Earlier schemas have other tables.
      if let host, let hosts = try? await store.hosts(),
        !hosts.contains(where: { $0.name == host }),
        try await !isInAudit(AuditFilter(host: host))
      {
        throw Failed.unknown(
          "host", host, among: hosts.map(\.name), hint: ": 'host list' shows them")
      }
      if let user, let users = try? await store.users().map(\.identifier), !users.contains(user),
        try await !isInAudit(AuditFilter(user: user))
      {
        throw Failed.unknown("user", user, among: users, hint: ": 'user list' shows them")
      }
    }
  }
}

/// A time on the command line.
enum AuditTime {
  static func read(_ text: String, _ name: String) throws -> Timestamp {
    let whole = text.utf8.count == 10 ? text + "T00:00:00Z" : text
    if let time = Timestamp(iso8601: whole) { return time }
    // A number alone would be seconds, which nobody means.
    if text.last?.isNumber == false, let interval = Interval(text) {
      return Timestamp.now + Interval(milliseconds: -interval.milliseconds)
    }
    throw Failed(
      "\(name) \(text.visible) is not as 2026-01-31, 2026-01-31T12:00:00Z or 24h", .usage)
  }
}
