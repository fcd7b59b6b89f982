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
}
