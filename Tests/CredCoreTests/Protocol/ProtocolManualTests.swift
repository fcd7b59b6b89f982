import Foundation
import TestSupport
import Testing

@testable import CredCore

/// credd-protocol(7) agrees with the protocol.
struct ProtocolManualTests {
  private static func page() throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    return try String(
      contentsOf: root.appending(path: "docs/man/credd-protocol.7"), encoding: .utf8)
  }

  @Test func hasEveryOperationAndNoOther() throws {
    let names = try Self.page().matches(of: /\n\.Ss (\w+)\n/).map { String($0.1) }
    expect(Set(names), equals: Set(OperationName.allCases.map(\.rawValue)))
    expect(names.count, equals: OperationName.allCases.count)
  }

  @Test(arguments: OperationName.allCases)
  func hasEveryKeyOfAnOperation(_ operation: OperationName) throws {
    let page = try Self.page()
    let section = try #require(page.components(separatedBy: "\n.Ss \(operation.rawValue)\n").last)
      .components(separatedBy: "\n.Ss ")[0].components(separatedBy: "\n.Sh ")[0]
    for key in operation.row.keys {
      expect(
        section.contains(try Regex(#"Li (.*\b)?\#(key)\b|\\\(dq\#(key)\\\(dq"#)), "\(key)")
    }
  }

  @Test func hasEveryErrorCodeAndNoOther() throws {
    let page = try Self.page()
    let list = try #require(page.components(separatedBy: ".Sh ERROR CODES\n").last)
      .components(separatedBy: "\n.Sh ")[0]
    let codes = list.matches(of: /\n\.It Li (\w+) Pq \d+\n/).map { String($0.1) }
    expect(Set(codes), equals: Set(ProtocolErrorCode.allCases.map(\.rawValue)))
    expect(codes.count, equals: ProtocolErrorCode.allCases.count)
  }

  /// The limits in the manual, with the figures of the constants.
  private static let limits = [
    "\(Limits.Client.connections) connections, \(Limits.Client.connectionsPerUser) of one user",
    "\(Limits.Client.unfinishedBytesPerUser >> 20) MiB of unfinished request lines of one user",
    "\(Limits.Client.backlogBytesPerUser >> 20) MiB of unread replies of one user",
    "in at most \(Limits.Client.waitingSessions) sessions at once",
    "\(Limits.User.calls) upstream calls of one user at once, then "
      + "\(Int(Duration.seconds(1) / Limits.User.callPause)) a second",
    "After \(Limits.User.freeFailures) that were refused each next one has to wait, "
      + "\(Limits.User.firstPause.components.seconds) seconds first and twice as long each time, "
      + "up to \(Limits.User.longestPause.components.seconds / 60) minutes",
    "with \(Limits.User.freeFailuresInAll) instead of \(Limits.User.freeFailures)",
    "of at most \(Limits.Client.queuedPrograms) processes of one user wait",
    "at most once in \(Limits.User.demandInterval.components.seconds) second",
    "\(thousands(DaemonSettings().maxSessions)) sessions",
    "at most \(thousands(Limits.Session.most))",
    "leaves \(Limits.Client.backlogBytes >> 20) MiB of replies unread",
    "at most \(Limits.Line.bytes >> 10) KiB",
    "within \(Limits.Line.time.components.seconds) seconds",
    "at most \(Limits.Line.json.values) values",
    "at most \(Limits.Line.idBytes) bytes",
  ]

  private static func thousands(_ number: Int) -> String {
    "\(number / 1000),\(String(number % 1000 + 1000).dropFirst())"
  }

  @Test(arguments: limits)
  func hasEveryLimitWithItsFigure(_ limit: String) throws {
    let list = try #require(Self.page().components(separatedBy: ".Sh LIMITS\n").last)
      .components(separatedBy: "\n.Sh ")[0]
    // Remove macros and line breaks.
    let text = list.replacing(/(?m)^\.[A-Z][a-z] ?/, with: "").replacing("\n", with: " ")
    expect(text.contains(limit), "\(text)")
  }
}
