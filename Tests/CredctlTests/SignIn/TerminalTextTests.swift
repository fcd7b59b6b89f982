import CredctlKit
import TestSupport
import Testing

struct TerminalTextTests {
  @Test func proseIsBrokenBetweenWordsAndLinksStayWhole() {
    let link = "  https://idp.example/" + String(repeating: "x", count: 80)
    let lines = ["one two three four five six seven", "", link, "short"]
    expect(
      TerminalText.wrapped(lines, to: 20),
      equals: ["one two three four", "five six seven", "", link, "short"])
    expect(TerminalText.wrapped(lines, to: nil), equals: lines)
    expect(TerminalText.rows(lines, of: 20), equals: 2 + 1 + 6 + 1)
    let word = String(repeating: "y", count: 30)
    expect(TerminalText.wrapped(["a \(word) b"], to: 20), equals: ["a", word, "b"])
  }

  @Test(arguments: [
    (["LANG": "C"], "a..."), (["LC_ALL": "POSIX", "LANG": "C.UTF-8"], "a..."),
    (["LANG": "de_DE.utf8"], "a…"), ([:], "a…"), (["LANG": ""], "a…"),
  ])
  func withoutUTF8ThereIsNoEllipsis(_ environment: [String: String], _ expected: String) {
    expect(TerminalText.spelled("a…") { environment[$0] }, equals: expected)
  }

  @Test func aTableIsCutByWhatTheLocaleCanShow() {
    var table = TextTable(header: ["A"], shrinking: [(0, 8)])
    table.append([TextTable.Cell("0123456789")])
    expect(
      table.rendered(on: TextTable.Display(width: 8, hasColour: false, ellipsis: "...")),
      equals: "A\n01234...\n")
  }

  /// At 80 × 24 the link, the code and the prompt are on the screen.
  @Test func aDeviceCodeFitsOnASmallScreen() throws {
    let challenge = try QuestionTests.challenge(
      "device",
      #"{"UserCode":"WDJB-MJHT","Url":"https://idp.example/device","CompleteUrl":"https://idp.example/device?c=WDJB-MJHT","Interval":5}"#
    )
    guard case .device(let step) = challenge.step else {
      Issue.record("\(challenge)")
      return
    }
    for hasQRCode in [true, false] {
      let lines = step.lines(profile: "work", host: "server", hasQRCode: hasQRCode)
      let shown = TerminalText.wrapped(lines, to: 80)
      expect(shown.allSatisfy { $0.count <= 80 }, "\(shown)")
      expect(TerminalText.rows(lines, of: 80) < 24)
      expect(shown.contains { $0.contains("QR code") }, equals: hasQRCode)
    }
  }
}
