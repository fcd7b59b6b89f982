import Foundation
import Testing

@testable import DaemonHarness

/// What Tests/Data/Array/columns.txt says: the columns of the array, and what cannot be.
struct ArrayColumns {
  /// A combination of values, and why it cannot be, or is refused.
  struct Rule {
    let values: [String: Set<String>]
    let reason: String

    /// Whether a row meets it. A column that is still open meets nothing.
    func covers(_ row: [String: String]) -> Bool {
      values.allSatisfy { name, values in row[name].map(values.contains) ?? false }
    }
  }

  private(set) var columns: [(name: String, values: [String])] = []
  private(set) var triples: [String] = []
  private(set) var impossible: [Rule] = []
  private(set) var refused: [Rule] = []

  init() throws {
    for line in try Repository.text("Tests/Data/Array/columns.txt").split(separator: "\n") {
      guard !line.hasPrefix("#"), let space = line.firstIndex(of: " ") else { continue }
      let rest = line[space...].dropFirst()
      switch line[..<space] {
      case "column": columns.append(try Self.column(rest))
      case "triples": triples = rest.split(separator: " ").map(String.init)
      case "never": impossible.append(try Self.rule(rest))
      case "refused": refused.append(try Self.rule(rest))
      default: throw Malformed(line: String(line))
      }
    }
  }

  private static func column(_ text: Substring) throws -> (String, [String]) {
    let parts = text.split(separator: ": ")
    guard parts.count == 2 else { throw Malformed(line: String(text)) }
    return (String(parts[0]), parts[1].split(separator: " ").map(String.init))
  }

  private static func rule(_ text: Substring) throws -> Rule {
    let parts = text.split(separator: ": ", maxSplits: 1)
    guard parts.count == 2 else { throw Malformed(line: String(text)) }
    var values: [String: Set<String>] = [:]
    for condition in parts[0].split(separator: " ") {
      let sides = condition.split(separator: "=")
      guard sides.count == 2 else { throw Malformed(line: String(text)) }
      values[String(sides[0])] = Set(sides[1].split(separator: "|").map(String.init))
    }
    return Rule(values: values, reason: String(parts[1]))
  }

  struct Malformed: Error {
    let line: String
  }
}

/// One row of Tests/Data/Array/array.tsv.
struct ArrayRow: Sendable, CustomTestStringConvertible {
  enum Backend: String {
    case http, exec, cognito, sample = "aws-sample", userPool = "user-pool", none
  }
  enum Method: String { case post = "POST", get = "GET", none = "-" }
  enum Access: String { case none, users, groups, units, executables, impersonate }
  enum Flow: String { case enhanced, basic, custom, tokens, direct }
  enum Login: String { case none, password, token, logins, linked }
  enum Caller: String { case named, unnamed, renamed, reused, impersonated }
  enum Door: String { case main, capped }
  enum Life: String { case cold, warm, refresh, bad, restored, reloaded, withdrawn }

  let number: Int
  let values: [String: String]
  let backend: Backend
  let method: Method
  /// `IDENTIFIER` or `IDENTIFIER@URL`: see columns.txt.
  let names: String
  let access: Access
  let flow: Flow
  let isGuestAllowed: Bool
  let login: Login
  let caller: Caller
  let life: Life
  let door: Door

  /// What a failure says: the way to repeat it, and the row.
  var testDescription: String {
    let cells = values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    return "CREDD_ARRAY_SEED=\(ArrayTests.seed) CREDD_ARRAY_ROW=\(number): "
      + cells.joined(separator: " ")
  }

  init?(_ line: Substring, columns: [String]) {
    let cells = line.split(separator: Character("\t")).map(String.init)
    guard cells.count == columns.count, let number = Int(cells[0]) else { return nil }
    let values = Dictionary(zip(columns.dropFirst(), cells.dropFirst()), uniquingKeysWith: { $1 })
    func value<Value: RawRepresentable<String>>(_ name: String) -> Value? {
      values[name].flatMap { Value(rawValue: $0) }
    }
    guard let backend: Backend = value("backend"), let method: Method = value("method"),
      let names = values["names"], let access: Access = value("access"),
      let flow: Flow = value("flow"), let guest = values["guest"],
      let login: Login = value("login"), let caller: Caller = value("caller"),
      let life: Life = value("life"), let door: Door = value("door")
    else { return nil }
    (self.number, self.values, self.backend, self.method) = (number, values, backend, method)
    (self.names, self.access, self.flow, isGuestAllowed) = (names, access, flow, guest == "yes")
    (self.login, self.caller, self.life, self.door) = (login, caller, life, door)
  }

  /// All rows of the file.
  static func all() throws -> [ArrayRow] {
    let lines = try Repository.text("Tests/Data/Array/array.tsv").split(separator: "\n")
    let columns = lines[0].split(separator: "\t").map(String.init)
    return try lines.dropFirst().map { line in
      try #require(ArrayRow(line, columns: columns), "\(line)")
    }
  }
}
