@testable import CredCore
import TestSupport
import Testing

/// Lines, sections, quotes and comments.
struct ConfigurationGrammarTests {
  @Test func readsCommentsBlankLinesAndWhiteSpace() {
    let text = """
      # a comment
      ; another
         # an indented one

      [ profile\tp ]   ; after a header
      identity_pool_id\t=\t\(examplePool)   # after a value
      account_id=123456789012
      """
    let reading = reading(text)
    expect(reading.diagnostics.isEmpty)
    expect(reading.configuration?.profiles["p"]?.accountID, equals: "123456789012")
  }

  @Test func acceptsCarriageReturnsAndByteOrderMark() {
    let text = "\u{FEFF}" + plainProfile.split(separator: "\n").joined(separator: "\r\n") + "\r\n"
    expect(reading(text).diagnostics.isEmpty)
  }

  @Test func commentNeedsWhiteSpaceBefore() {
    let http = "url = https://h/a;b\n" + "header.X = a;b#c ; d"
    guard let settings = backend("http", http)?.kind as? HTTPBackendSettings else {
      Issue.record("not read")
      return
    }
    expect(settings.url.template, equals: try? Template("https://h/a;b"))
    expect(settings.headers, equals: [HTTPHeader("X", Secret("a;b#c"))])
  }

  @Test(arguments: [
    (#""a ; b # c""#, "a ; b # c"),
    (#""a \"b\" \\ c"  ; d"#, #"a "b" \ c"#),
    (#"a\b"#, #"a\b"#),
  ])
  func quotesKeepTheirContent(written: String, meant: String) {
    guard
      let settings = backend("http", "url = https://h/\nheader.X = \(written)")?.kind
        as? HTTPBackendSettings
    else {
      Issue.record("not read")
      return
    }
    expect(settings.headers.map(\.value), equals: [Secret(meant)])
  }

  @Test(arguments: [
    ("log_level = \"info", "'log_level': a double quote is not closed"),
    ("log_level = \"info\" x", "log_level: text follows the closing quote"),
    ("log_level = in\"fo\"", "log_level: double quotes must enclose the whole value"),
    ("log_level = \"\\n\"", #"log_level: within quotes '\' stands only before '"' or '\'"#),
    ("log_level = \"\"", "log_level: is empty"),
    ("log_level =", "'log_level' has no value"),
    ("log_level = ; info", "'log_level' has no value"),
    ("= info", "the key before '=' is missing"),
    ("log level = info", "a key is one plain word"),
    ("log_level", "expected 'key = value', '[section]' or a comment"),
    (" info", "the line starts with white space: a value cannot continue on a second line"),
    ("[daemon", "the section's '[' has no ']'"),
    ("[daemon] x", "text follows the section's ']'"),
    ("[ ]", "the section has no name"),
    ("log\u{0}level = x", "the line holds the control character U+0000 (column 4)"),
    ("# \u{E9}\u{1B}[2J", "the line holds the control character U+001B (column 4)"),
    ("# a\rb", "the line holds the control character U+000D (column 4)"),
    ("# \u{85}", "the line holds the control character U+0085 (column 3)"),
  ])
  func refusesMalformedLines(line: String, message: String) {
    expect(problems("[daemon]\n\(line)\n" + plainProfile), equals: ["credd.conf:2: \(message)"])
  }

  /// What a page or a mail makes of quotes, hyphens and blanks.
  @Test(arguments: [
    ("“log_level” = info", #"“ (U+201C), a quote of printed text: type ", or nothing (column 1)"#),
    ("log\u{2011}level = info", "‑ (U+2011), a dash of printed text: type - or -- (column 4)"),
    ("log_level – info", "– (U+2013), a dash of printed text: type - or -- (column 11)"),
    ("log_level\u{A0}= info", "a blank that is no space (U+00A0): type one (column 10)"),
    ("\u{A0}# a comment", "a blank that is no space (U+00A0): type one (column 1)"),
    ("[profile ‘x’]", #"‘ (U+2018), a quote of printed text: type ", or nothing (column 10)"#),
    ("[profile\u{200B} x]", "an invisible character (U+200B): delete it (column 9)"),
  ])
  func namesPastedCharacters(line: String, message: String) {
    expect(
      problems("[daemon]\n\(line)\n" + plainProfile),
      equals: ["credd.conf:2: the line holds \(message)"])
  }

  /// In a value they may be meant: in double quotes they are.
  @Test func warnsOfPastedCharactersInAValue() {
    let quote = #"the line holds “ (U+201C), a quote of printed text: type ", or nothing"#
    expect(
      problems("[daemon]\nlog_level = “info” ; – \n" + plainProfile).map { String($0.prefix(110)) },
      equals: [
        "credd.conf:2: log_level: '“info”' is not known; known are error, warning, notice, info, debug",
        "credd.conf:2: warning: \(quote) (column 13)",
      ])
    let command = "\ncommand = /usr/bin/token –user \"O’Brien\"\n"
    expect(
      problems(inBackend: "exec", command),
      equals: [
        "credd.conf:4: warning: the line holds – (U+2013), a dash of printed text: type - or -- "
          + "(column 26)"
      ])
    expect(problems("# “it’s” – fine\u{A0}\n" + plainProfile), equals: [])
  }

  /// Programs with keys of their own take what they want of such a value.
  @Test func otherProgramsGetErrorsAlone() {
    let source = ConfigurationSource(name: "f", bytes: Array("[a]\ntitle = Bob’s\n".utf8))
    let files = INIFiles([source])
    expect(files.diagnostics, equals: [])
    expect(try? files.sections.first?["title"]?.text(), equals: "Bob’s")
  }

  @Test func refusesInvalidUTF8WithItsColumn() {
    let bytes = Array("\(plainProfile)# caf\u{E9} ".utf8) + [0xC3, 0x28]
    let reading = Configuration.read(
      [ConfigurationSource(name: "f", bytes: bytes)], environment: { _ in nil })
    expect(
      reading.diagnostics.map(\.description),
      equals: ["f:3: the line is not valid UTF-8 (column 8)"])
  }

  @Test func entriesBelowABrokenHeaderAreIgnored() {
    expect(
      problems(plainProfile + "[oops\nnonsense = 1\n"),
      equals: [
        "credd.conf:3: the section's '[' has no ']'"
      ])
  }

  @Test func entryBeforeTheFirstSection() {
    expect(
      problems("type = http\n" + plainProfile),
      equals: [
        "credd.conf:1: 'type' stands before the first [section]"
      ])
  }

  @Test func aFileDoesNotContinueAnEarlierFilesSection() {
    let reading = reading([("a", plainProfile), ("b", "guest = yes\n")])
    expect(
      reading.diagnostics.map(\.description),
      equals: ["b:1: 'guest' stands before the first [section]"])
  }

  @Test func duplicatesNameBothPlaces() {
    let reading = reading([
      ("a", plainProfile + "guest = yes\nguest = no\n"),
      ("b", "[profile p]\nguest = no\nfips = yes\n"),
    ])
    expect(
      reading.diagnostics.map(\.description),
      equals: [
        "a:4: duplicate key 'guest' in '[profile p]'; first at a:3",
        "b:1: duplicate section '[profile p]'; first at a:1",
        "b:2: duplicate key 'guest' in '[profile p]'; first at a:3",
      ])
    expect(reading.configuration == nil)
  }

  @Test(.disabled(if: TestRounds.isShort, "left out by CREDD_TEST_ROUNDS=short"))
  func limitsOfLineAndFile() {
    let longest = "#" + String(repeating: "x", count: Limits.Configuration.lineBytes - 1)
    expect(problems(plainProfile + longest + "\r\n").isEmpty)
    expect(
      problems(plainProfile + longest + "x"),
      equals: ["credd.conf:3: the line is longer than 8192 bytes"]
    )
    let padding = String(repeating: "\n", count: Limits.Configuration.fileBytes)
    expect(problems(plainProfile + padding.dropLast(plainProfile.utf8.count)).isEmpty)
    expect(
      problems(plainProfile + padding).first,
      equals: "credd.conf:1: the file is longer than 1048576 bytes")
  }

  @Test(.disabled(if: TestRounds.isShort, "left out by CREDD_TEST_ROUNDS=short"))
  func limitOfProfiles() {
    let count = Limits.Configuration.profiles
    let files = (0..<2).map { half in
      let profiles = (0..<count / 2).map { index in
        "[profile p\(half)-\(index)]\nidentity_pool_id = \(examplePool)\n"
      }
      return (name: "f\(half)", text: profiles.joined())
    }
    expect(reading(files).configuration?.profiles.count, equals: count)
    let more = reading(files + [(name: "more", text: plainProfile)])
    expect(more.diagnostics.map(\.description), equals: ["more:1: more than 10000 profiles"])
  }

  @Test func diagnosticsBeyondTheLimitAreCounted() {
    let lines = String(repeating: "x\n", count: Limits.Configuration.diagnostics + 7)
    let reading = reading(plainProfile + lines)
    expect(reading.diagnostics.count, equals: Limits.Configuration.diagnostics + 1)
    expect(reading.diagnostics.last?.description, equals: "7 more problems are not shown")
  }
}
