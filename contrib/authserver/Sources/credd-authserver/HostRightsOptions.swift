import ArgumentParser
import AuthCore

/// For whom a host, or a group of hosts, may speak, as options of a command.
struct RightsOptions: ParsableArguments {
  @Option(help: "A pool of the configuration; may be given again.") var pool: [String] = []
  @Option(help: "Users for whom the host's word counts: names, *, ?, {host}.")
  var vouches: [String] = []
  @Option(help: "Users who may sign in on the host, in the same form.")
  var signsIn: [String] = []
  @Flag(inversion: .prefixedNo, help: "Its users may link logins of other providers.")
  var mayLink: Bool?
  @Flag(inversion: .prefixedNo, help: "A guest's identity may become its user's.")
  var mayAdoptGuests: Bool?

  var isEmpty: Bool {
    pool.isEmpty && vouches.isEmpty && signsIn.isEmpty && mayLink == nil && mayAdoptGuests == nil
  }

  /// Reads what is given.
  func given(_ settings: AuthCore.Configuration) throws -> HostRights {
    let pools = pool.filter { !$0.isEmpty }
    for name in pools where settings.pools[name] == nil {
      throw Failed.unknownPool(name, settings)
    }
    return HostRights(
      vouches: try Self.patterns(vouches, "--vouches"),
      signsIn: try Self.patterns(signsIn, "--signs-in"),
      pools: pools.reduce(into: []) { if !$0.contains($1) { $0.append($1) } },
      mayLink: mayLink ?? false, mayAdoptGuests: mayAdoptGuests ?? false)
  }

  /// What was given in `new`. The rest comes from `old`.
  func merged(_ new: HostRights, into old: HostRights) -> HostRights {
    HostRights(
      vouches: vouches.isEmpty ? old.vouches : new.vouches,
      signsIn: signsIn.isEmpty ? old.signsIn : new.signsIn,
      pools: pool.isEmpty ? old.pools : new.pools, mayLink: mayLink ?? old.mayLink,
      mayAdoptGuests: mayAdoptGuests ?? old.mayAdoptGuests)
  }

  private static func patterns(_ words: [String], _ option: String) throws -> Patterns {
    let text = words.joined(separator: " ")
    do { return try Patterns(text) } catch {
      throw Failed("\(option) \(text.visible): a name or pattern \(error.reason)", .usage)
    }
  }

  /// A host's name, or a group's.
  static func checkName(_ name: String) throws {
    do { try Enrolment.checkName(name) } catch {
      throw Failed("\(name.visible) \(error.reason)", .usage)
    }
  }

  static func check(_ host: Enrolment) throws {
    if host.rights == .none, host.group == nil {
      throw Failed(
        "\(host.name) would speak for nobody: give --vouches USERS, --signs-in USERS or --group NAME",
        .usage)
    }
    if let fault = host.rights.fault { throw Failed("\(host.name): \(fault)", .usage) }
  }
}

/// What commands say of a host or a group: to the audit, to people and to programs.
enum HostNotes {
  static let columns = ["pools", "vouches", "signs-in", "may"]

  static func cells(_ rights: HostRights) -> [Cell] {
    [
      .words(rights.pools), .words(rights.vouches.words), .words(rights.signsIn.words),
      .words(
        [rights.mayLink ? "link" : nil, rights.mayAdoptGuests ? "adopt-guests" : nil]
          .compactMap(\.self)),
    ]
  }

  static func group(_ host: Enrolment) -> Cell {
    host.group.map { .text($0.name) } ?? .absent("-")
  }

  static func end(_ time: Timestamp?) -> String { time?.iso8601 ?? "never" }

  static func members(_ rights: HostRights) -> [String: String] {
    [
      "vouches": rights.vouches.text, "signsIn": rights.signsIn.text,
      "pools": rights.pools.joined(separator: " "), "mayLink": String(rights.mayLink),
      "mayAdoptGuests": String(rights.mayAdoptGuests),
    ]
  }

  static func members(_ host: Enrolment) -> [String: String] {
    members(host.rights).merging([
      "host": host.name, "group": host.group?.name ?? "", "expires": end(host.expires),
    ]) { $1 }
  }

  static func cells(_ host: Enrolment) -> [String: Cell] {
    let names = ["name", "group"] + columns + ["expires"]
    let cells: [Cell] = [.text(host.name), group(host)] + cells(host.rights) + [.end(host.expires)]
    return Dictionary(uniqueKeysWithValues: zip(names, cells))
  }

  /// The members that have changed: each with its new value, and with its old value beside it.
  static func changes(
    _ before: [String: String], _ after: [String: String]
  ) -> [String: String] {
    var changes: [String: String] = [:]
    for (name, value) in after where before[name] != value {
      changes[name] = value
      changes[name + "Before"] = before[name] ?? ""
    }
    return changes
  }

  /// The same for people.
  static func text(
    _ before: [String: String], _ after: [String: String], _ name: String
  ) -> String {
    let lines = after.keys.sorted().filter { before[$0] != after[$0] }.map {
      "  \($0): '\(after[$0] ?? "")', was '\(before[$0] ?? "")'"
    }
    return lines.isEmpty
      ? "\(name) is as it was" : (["\(name) is changed:"] + lines).joined(separator: "\n")
  }
}
