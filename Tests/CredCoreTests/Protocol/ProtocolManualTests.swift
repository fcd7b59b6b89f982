import Foundation
import Testing

@testable import CredCore

/// credd-protocol(7) against the protocol.
struct ProtocolManualTests {
  private static func page() throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    return try String(
      contentsOf: root.appending(path: "docs/man/credd-protocol.7"), encoding: .utf8)
  }

  @Test func hasEveryOperationAndNoOther() throws {
    let names = try Self.page().matches(of: /\n\.Ss (\w+)\n/).map { String($0.1) }
    #expect(Set(names) == Set(OperationName.allCases.map(\.rawValue)))
    #expect(names.count == OperationName.allCases.count)
  }

  @Test(arguments: OperationName.allCases)
  func hasEveryKeyOfAnOperation(_ operation: OperationName) throws {
    let page = try Self.page()
    let section = try #require(page.components(separatedBy: "\n.Ss \(operation.rawValue)\n").last)
      .components(separatedBy: "\n.S")[0]
    for key in operation.keys {
      #expect(
        section.contains(try Regex(#"Li (.*\b)?\#(key)\b|\\\(dq\#(key)\\\(dq"#)), "\(key)")
    }
  }

  @Test func hasEveryErrorCodeAndNoOther() throws {
    let page = try Self.page()
    let list = try #require(page.components(separatedBy: ".Sh ERROR CODES\n").last)
      .components(separatedBy: "\n.Sh ")[0]
    let codes = list.matches(of: /\n\.It Li (\w+) Pq \d+\n/).map { String($0.1) }
    #expect(Set(codes) == Set(ProtocolErrorCode.allCases.map(\.rawValue)))
    #expect(codes.count == ProtocolErrorCode.allCases.count)
  }
}
