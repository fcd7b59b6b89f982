import Foundation
import TestSupport
import Testing

@testable import DaemonHarness

/// What `make test` says of the tests that it ran.
@Suite(.onStage)
struct ScriptTests {
  private static let log = """
    x Test passes() started.
    x Test passes() passed after 0.1 seconds.
    x Test needsRoot() skipped: "takes root, which can be other users"
    x Test "the kernel is asked" skipped: "takes nc(1)"
    x Test needsAppArmor() skipped: "this kernel has no AppArmor"
    x Test needsQuadlet() skipped: "this podman has no generator"
    x Test run with 5 tests in 1 suite passed after 0.1 seconds.

    """

  /// Runs the script's functions on a log in place of tests.
  private func report(_ log: String, isCI: Bool) throws -> TestHost.Outcome {
    let (output, file) = (try Stage.current().newFile("output"), try Stage.current().newFile("log"))
    try FileManager.default.createDirectory(atPath: output, withIntermediateDirectories: true)
    try Data(log.utf8).write(to: URL(filePath: file))
    let script = """
      output=$1
      : >"$output/counts"
      source "$2/scripts/checks.bash"
      test_program() { cp "$OLD" "$1"; }
      tests 'some tests'
      total
      """
    var environment = ["OLD": file]
    if isCI { environment["CI"] = "true" }
    let process = try ChildProcess(
      ["/bin/bash", "-c", script, "bash", output, Repository.root.path],
      environment: environment)
    return TestHost.Outcome(
      status: try process.wait(), output: process.output, errors: process.errors)
  }

  @Test func closingLineCountsTestsThatCouldNotRunAndEachSaysWhy() throws {
    let outcome = try report(Self.log, isCI: false)
    expect(outcome.status, equals: 0)
    expect(outcome.output.hasSuffix("\n1 passed, 0 failed, 4 skipped\n"), "\(outcome)")
    for line in Self.log.split(separator: "\n") where line.contains("skipped") {
      expect(outcome.output.contains(line.dropFirst("x Test ".count)))
    }
    let whole = try report(Self.log.replacing(/x Test .* skipped.*\n/, with: ""), isCI: false)
    expect(whole.output.hasSuffix("\n1 passed, 0 failed, 0 skipped\n"), "\(whole)")
  }

  /// Root, namespaces and packages must be there. No name of a test is taken for a reason.
  @Test func onlyTheKernelAndAnOldPodmanExcuseASkippedTestInCI() throws {
    let outcome = try report(Self.log, isCI: true)
    expect(outcome.status, equals: 1)
    expect(outcome.output.hasSuffix("\n1 passed, 2 failed, 2 skipped\n"), "\(outcome)")
  }

  @Test func anUnknownPartIsAnErrorThatListsTheParts() throws {
    let script = Repository.root.appending(path: "scripts/test-all").path
    let process = try ChildProcess(["/bin/bash", script, "gate", "containres"])
    expect(try process.wait(), equals: 64)
    expect(process.output, equals: "")
    expect(
      process.errors.hasPrefix("test-all: there is no part 'containres'; the parts are: gate "))
    expect(process.errors.contains(" containers "))
  }

  /// `make test-all` finds suites by the names of their files: none may be left out.
  @Test func everySuiteOfTheFieldBelongsToAPart() throws {
    let files = FileManager.default
    let field = Repository.root.appending(path: "Tests/FieldTests").path
    let script = try Repository.text("scripts/test-all")
    for folder in try files.contentsOfDirectory(atPath: field) {
      expect(script.contains("field \(folder)"), "\(folder)")
      for file in try files.contentsOfDirectory(atPath: "\(field)/\(folder)") {
        let text = try Repository.text("Tests/FieldTests/\(folder)/\(file)")
        let suites = text.matches(of: /\nstruct (\w+Tests) \{/).map { String($0.1) }
        expect(suites, equals: file.hasSuffix("Tests.swift") ? [String(file.dropLast(6))] : [])
        expect(!suites.isEmpty || !text.contains("@Test"), "\(file)")
      }
    }
  }

  /// Braces in comments and strings, properties that only look stored, extensions and nested types.
  @Test func houseCountsTypesFromTheText() throws {
    let lines = try house("CredService", status: 0)
    expect(lines.contains("Keeper CredService 24 2 6"), "\(lines)")
    expect(lines.contains("Keeper.Row CredService 1 1 1"), "\(lines)")
    expect(lines.contains("CredService: 2 of 2 files in a circle"), "\(lines)")
    expect(lines.last?.contains("Keeper, 24 lines in 2 files, 6 stored") == true, "\(lines)")
  }

  /// Blocks, tables and headings have no sentences.
  @Test func houseCountsTheWordsOfSentencesAndThoseThatStandForANoun() throws {
    let lines = try house("CredService", status: 0)
    expect(
      lines.first,
      equals: "3.0 words a sentence in the developers' pages, 4 in the longest tenth")
    let words = "in comments 2 words stand for a noun ('its own', 'those of'), and 1 'whose'"
    expect(lines.dropFirst().first, equals: words)
  }

  @Test func houseFailsWhereACircleGrows() throws {
    let lines = try house("CredNew", status: 1)
    expect(lines.last, equals: "CredNew: 2 files name each other's types, 1 before")
  }

  /// A sign-in has a way, too, and so has a backend.
  @Test func houseFailsWhereAWayIsAskedForOutsideOfItsFolder() throws {
    let asking = "func f() { if case .role = profile.way {} else if way == .device {} }"
    let lines = try house(
      "CredNew", status: 1,
      adding: ["Asking": asking, "Ways/Role": asking, "Backends/Role": asking])
    expect(lines.contains("CredNew: 1 questions for a way outside of Ways, in 1 files"), "\(lines)")
    expect(lines.last, equals: "CredNew: 1 questions for a way outside of Ways, 0 before")
  }

  @Test func houseFailsWhereMoreClosuresOutliveTheirCall() throws {
    let functions = (1...500).map { "func work\($0)(_ body: @escaping () -> Void) {}" }
    let lines = try house(
      "CredNew", status: 1, adding: ["Working": functions.joined(separator: "\n")])
    expect(lines.last?.hasPrefix("@escaping: 500 closures outlive their call, ") == true)
  }

  /// What scripts/house prints of a small tree in that module.
  private func house(
    _ module: String, status: Int32, adding others: [String: String] = [:]
  ) throws -> [String] {
    let tree = try Stage.current().newFile("tree")
    let folder = "\(tree)/Sources/\(module)"
    for (name, text) in Self.tree.merging(others, uniquingKeysWith: { $1 }) {
      let file = URL(filePath: "\(folder)/\(name).swift")
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: file)
    }
    try Data(Self.page.utf8).write(to: URL(filePath: "\(tree)/CONTRIBUTING.md"))
    let script = Repository.root.appending(path: "scripts/house").path
    let process = try ChildProcess(["/usr/bin/python3", script, tree])
    expect(try process.wait(), equals: status, "\(process.errors)")
    return process.output.split(separator: "\n").map { line in
      line.split(separator: " ").joined(separator: " ")
    }
  }

  private static let page = """
    # A heading

    Two words. This has four words!

    - Three `words.swift` here.

    | a row of a table | has none |

    ```
    nor has a block
    ```

    """

  private static let tree = [
    "Keeper": #"""
    /// A class { in a comment. /* struct No { /* nested */ } */
    final class Keeper {
      private let first, second: Int
      lazy var table: [String: (Int, Int)] = { [:] }()
      @Wrapped(by: { 1 }) var watched = 0 { didSet { note() } }
      var told: (_ name: String) -> Void = { _ in let local = 1 }
      weak var guest: Guest?
      static let shared = Keeper()
      class var other: Int { 1 }
      var computed: String {
        let local = "} \(text(of: "{")) {"
        return local + #"" }"#
      }
      struct Row { let x = "}"; var y: Int { 1 } }
      func text(of text: String) -> String { text }
    }
    """#,
    "Notes": #"""
    /// A note has its own guest, or those of a keeper whose row is empty.
    extension Keeper {
      /* { */
      func note() {
        let pattern = /\{"/
        _ = text(of: """
          } " {
          """)
      }
    }
    final class Guest { unowned let host: Keeper }
    """#,
  ]
}
