import CredService
import Foundation
import Logging
import TestSupport
import Testing

@testable import CredRuntime

struct LogHandlerTests {
  private func event(_ message: Logger.Message, _ metadata: Logger.Metadata) -> LogEvent {
    LogEvent(
      level: .notice, message: message, metadata: metadata, source: "", file: "", function: "",
      line: 0)
  }

  @Test func `the journal gets a field for each piece of metadata`() {
    var handler = JournalLogHandler(threshold: LogThreshold(.info))
    handler[metadataKey: "profile"] = "work"
    let fields = handler.fields(
      of: event(
        "a\nb", ["uid": "1000", "unit": "x.service\nCREDD_UID=0", "message_id": "abc"]))
    expect(
      Set(fields),
      equals: [
        "MESSAGE=a b profile=work uid=1000 unit=\"x.service CREDD_UID=0\"", "PRIORITY=5",
        "SYSLOG_IDENTIFIER=credd", "MESSAGE_ID=abc",
        "CREDD_PROFILE=work", "CREDD_UID=1000", "CREDD_UNIT=x.service CREDD_UID=0",
      ])
  }

  @Test func `no value passes for another pair`() {
    let text = event("refused", ["executable": #"/tmp/x uid=0 "\"#, "uid": "1000", "user": ""])
      .text(with: ["executable": #"/tmp/x uid=0 "\"#, "uid": "1000", "user": ""])
    expect(text, equals: #"refused executable="/tmp/x uid=0 \"\\" uid=1000 user="""#)
  }

  @Test func `one threshold rules all loggers`() {
    let threshold = LogThreshold(.info)
    let logger = LogOutput.logger(threshold)
    expect(logger.logLevel, equals: .info)
    threshold.current = .debug
    expect(logger.logLevel, equals: .debug)
    threshold.current = .error
    expect(logger.logLevel, equals: .error)
  }

  @Test func `every message id is explained in the catalog`() throws {
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
    let catalog = try String(
      contentsOf: root.appending(path: "systemd/credd.catalog"), encoding: .utf8)
    let explained = catalog.split(separator: "\n").filter { $0.hasPrefix("-- ") }
      .map { String($0.dropFirst(3)) }
    expect(explained.sorted(), equals: JournalEvent.allCases.map(\.rawValue).sorted())
    expect(JournalEvent.allCases.allSatisfy { $0.rawValue.count == 32 })
  }

  @Test func `the manual explains every message id and every field, and no other`() throws {
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
    let page = try String(contentsOf: root.appending(path: "docs/man/credd.8"), encoding: .utf8)
    let ids = page.matches(of: /\n\.It Li ([0-9a-f]{32})\n/).map { String($0.output.1) }
    expect(ids.sorted(), equals: JournalEvent.allCases.map(\.rawValue).sorted())
    let fields = page.split(separator: "\n").filter { $0.hasPrefix(".It Sy CREDD_") }
      .flatMap { $0.matches(of: /CREDD_([A-Z_]+)=/).map { $0.output.1.lowercased() } }
    expect(fields.count, equals: Set(fields).count, "a field is explained twice")
    expect(Set(fields).symmetricDifference(try Self.metadataKeys(below: root)), equals: [])
  }

  /// The keys that the daemon's sources write as metadata. Nothing else there has their form.
  private static func metadataKeys(below root: URL) throws -> Set<String> {
    var keys: Set<String> = []
    for module in ["CredCore/Ways", "CredService", "CredRuntime", "credd"] {
      let folder = root.appending(path: "Sources/\(module)")
      let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
      for name in names where name.hasSuffix(".swift") {
        let source = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
        for pattern in [
          /"([a-z_]+)": "/, /metadataKey: "([a-z_]+)"/, /(?:metadata|\$0)\["([a-z_]+)"\]/,
          /origin(?: = )?\["([a-z_]+)"/,
        ] {
          keys.formUnion(source.matches(of: pattern).map { String($0.output.1) })
        }
      }
    }
    return keys
  }

  @Test(arguments: [
    ("a\nb", "a b"), ("a\r\nb", "a  b"), ("\u{1B}[31mred\u{7}", " [31mred "), ("a\0b", "a b"),
    ("\u{9B}1m", " 1m"), ("tab\there", "tab here"), ("\u{202E}or", " or"), ("a\u{2028}b", "a b"),
    ("grün ☂ 字", "grün ☂ 字"), ("", ""),
  ])
  func `control characters become spaces`(_ text: String, _ line: String) {
    expect(text.onOneLine, equals: line)
  }
}
