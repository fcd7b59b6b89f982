import AuthCore
import AuthStore
import CredCore
import FoundationEssentials
import Glibc

/// A value in what a command prints. Programs get the value, people get a word.
enum Cell: Encodable, Sendable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
  case text(String)
  case number(Int64)
  case flag(Bool)
  case list([Cell])
  case object([String: Cell])
  /// Null to programs.
  case absent(String)

  init(stringLiteral text: String) { self = .text(text) }

  /// The members of an entry in the audit, which are texts.
  init(members json: String) {
    let members = try? JSONObject(Array(json.utf8)).members()
    self = members.map { .object($0.mapValues { .text($0) }) } ?? .text(json)
  }

  static func words(_ words: [String]) -> Cell { .list(words.map { .text($0) }) }

  static func end(_ time: Timestamp?) -> Cell {
    time.map { .text($0.iso8601) } ?? .absent("never")
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .text(let text): try container.encode(text)
    case .number(let number): try container.encode(number)
    case .flag(let flag): try container.encode(flag)
    case .list(let cells): try container.encode(cells)
    case .object(let members): try container.encode(members)
    case .absent: try container.encodeNil()
    }
  }

  /// For people, on one line.
  var word: String {
    switch self {
    case .text(let text), .absent(let text): text.visible
    case .number(let number): String(number)
    case .flag(let flag): flag ? "yes" : "no"
    case .list(let cells): cells.isEmpty ? "-" : cells.map(\.word).joined(separator: " ")
    case .object(let members):
      members.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.word)" }
        .joined(separator: " ")
    }
  }
}

extension Common {
  /// A table for people, or a list of objects for programs.
  func show(_ columns: [String], _ rows: [[Cell]]) throws {
    guard !json else {
      return try show(rows.map { Dictionary(uniqueKeysWithValues: zip(columns, $0)) })
    }
    let rows = rows.map { $0.map(\.word) }
    let widths = columns.indices.map { column in
      ([columns] + rows).map { $0[column].count }.max() ?? 0
    }
    for row in [columns.map { $0.uppercased() }] + rows {
      let cells = row.indices.map { column in
        column == row.count - 1
          ? row[column]
          : row[column] + String(repeating: " ", count: widths[column] - row[column].count)
      }
      print(cells.joined(separator: "  "))
    }
  }

  func show(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    print(String(decoding: try encoder.encode(value), as: UTF8.self))
  }

  /// A line for people, or an object for programs.
  func say(_ text: String, _ members: [String: Cell]) throws {
    if json { try show(members) } else { print(text) }
  }

  /// Prints an answer with texts as members, as in the audit.
  func say(_ text: String, _ members: [String: String]) throws {
    try say(text, members.mapValues { Cell.text($0) })
  }
}

/// Why a command did not do what it was asked.
struct Failed: Error, CustomStringConvertible {
  /// Exit statuses, as sysexits.h has them.
  enum Kind: Int32 {
    /// The command looked, and the answer is no.
    case negative = 1
    /// The command line is wrong.
    case usage = 64
    /// The command line names something that does not exist, or a file has an impossible content.
    case data = 65
    /// It may succeed later, or once something else is mended.
    case unavailable = 69
  }

  let description: String
  let kind: Kind

  init(_ description: String, _ kind: Kind = .data) {
    // Parts of the text come out of files and from the network.
    self.description = description.split(separator: "\n", omittingEmptySubsequences: false)
      .map { String($0).visible }.joined(separator: "\n")
    self.kind = kind
  }

  /// The text names a database that is a file. PostgreSQL's texts name the server already.
  init(_ error: StoreError, of database: AuthCore.Configuration.Database) {
    let isPassing =
      switch error {
      case .unavailable, .full, .collided, .otherSchema, .denied: true
      default: false
      }
    let place =
      switch database {
      case .sqlite(let path): "\(path): "
      case .postgres: ""
      }
    self.init(place + error.description, isPassing ? .unavailable : .data)
  }
}

extension Failed {
  /// For a name that nothing has: `there is no host wbe1; did you mean 'web1'?`
  static func unknown(
    _ what: String, _ name: String, among known: [String], hint: String = ""
  ) -> Failed {
    Failed(
      "there is no \(what) \(name.visible)"
        + NearestName.suggestion(name, in: known, otherwise: hint))
  }

  static func unknownPool(_ name: String, _ settings: AuthCore.Configuration) -> Failed {
    let known = settings.pools.keys.sorted()
    return Failed(
      "--pool: there is no [pool \(name.visible)] in the configuration"
        + NearestName.suggestion(
          name, in: known, otherwise: "; there is \(known.joined(separator: ", "))"))
  }
}

extension Identifier {
  /// A name of the command line.
  ///
  /// - Parameter shared: for a new account, whether a user of a host may have its name too.
  static func read(_ name: String, asAccount shared: Bool? = nil) throws -> Identifier {
    do throws(InvalidName) {
      guard let shared else { return try Identifier(name) }
      return try Identifier(registering: name, as: .account, shared: shared)
    } catch {
      throw Failed("the name \(name.visible) \(error.reason)", .usage)
    }
  }

  /// Says on standard error how people may take a new name for another one.
  func warnOfLooks() {
    guard let lookalike else { return }
    let text = Array("Warning: the name \(name.visible) \(lookalike)\n".utf8)
    _ = unsafe write(STDERR_FILENO, text, text.count)
  }
}
