import CredService
import Foundation
import Logging
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
    #expect(
      Set(fields) == [
        "MESSAGE=a b profile=work uid=1000 unit=\"x.service CREDD_UID=0\"", "PRIORITY=5",
        "SYSLOG_IDENTIFIER=credd", "MESSAGE_ID=abc",
        "CREDD_PROFILE=work", "CREDD_UID=1000", "CREDD_UNIT=x.service CREDD_UID=0",
      ])
  }

  @Test func `no value passes for another pair`() {
    let text = event("refused", ["executable": #"/tmp/x uid=0 "\"#, "uid": "1000", "user": ""])
      .text(with: ["executable": #"/tmp/x uid=0 "\"#, "uid": "1000", "user": ""])
    #expect(text == #"refused executable="/tmp/x uid=0 \"\\" uid=1000 user="""#)
  }

  @Test func `one threshold rules all loggers`() {
    let threshold = LogThreshold(.info)
    let logger = LogOutput.logger(threshold)
    #expect(logger.logLevel == .info)
    threshold.current = .debug
    #expect(logger.logLevel == .debug)
    threshold.current = .error
    #expect(logger.logLevel == .error)
  }

  @Test func `every message id is explained in the catalog`() throws {
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
    let catalog = try String(
      contentsOf: root.appending(path: "systemd/credd.catalog"), encoding: .utf8)
    let explained = catalog.split(separator: "\n").filter { $0.hasPrefix("-- ") }
      .map { String($0.dropFirst(3)) }
    #expect(explained.sorted() == JournalEvent.allCases.map(\.rawValue).sorted())
    #expect(JournalEvent.allCases.allSatisfy { $0.rawValue.count == 32 })
  }

  @Test(arguments: [
    ("a\nb", "a b"), ("a\r\nb", "a  b"), ("\u{1B}[31mred\u{7}", " [31mred "), ("a\0b", "a b"),
    ("\u{9B}1m", " 1m"), ("tab\there", "tab here"), ("\u{202E}or", " or"), ("a\u{2028}b", "a b"),
    ("grün ☂ 字", "grün ☂ 字"), ("", ""),
  ])
  func `control characters become spaces`(_ text: String, _ line: String) {
    #expect(text.onOneLine == line)
  }
}
