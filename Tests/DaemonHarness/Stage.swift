import Foundation
import Glibc
import Synchronization
import Testing
import TestSupport

/// What one test has on stage: its processes and files. All of it is gone when the test is over;
/// if it failed, what its programs said is printed.
final class Stage: Sendable {
  private struct Props {
    var processes: [ChildProcess] = []
    var secrets: Set<String> = []
    /// Those of which a part may be a word.
    var phrases: Set<String> = []
    var files = 0
    var hasFailed = false
  }

  @TaskLocal private static var ofThisTest: Stage?

  /// Short: the path of a socket has room for 107 bytes.
  let folder: String
  private let props = Mutex(Props())

  private init() throws {
    var template = Array("/tmp/credd-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else { throw CallFailed("mkdtemp") }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // Other users look for the socket in it.
    unsafe chmod(folder, 0o755)
  }

  static func current() throws -> Stage {
    guard let stage = ofThisTest else { throw NoStage() }
    return stage
  }

  /// Other users read what the tests write for them, whatever mask the shell has.
  private static let openedMask = umask(0o022)

  @concurrent
  static func run(
    _ test: Test, _ testCase: Test.Case?,
    _ body: @concurrent @Sendable () async throws -> Void
  ) async throws {
    await TestLimit.shared.enter()
    let result = await withTaskExecutorPreference(TestThread()) {
      () async -> Result<Void, any Error> in
      do {
        _ = openedMask
        let stage = try Stage()
        defer { stage.clear(after: test) }
        return .success(try await stage.perform(test, testCase, body))
      } catch {
        return .failure(error)
      }
    }
    await TestLimit.shared.leave()
    try result.get()
  }

  @concurrent
  private func perform(
    _ test: Test, _ testCase: Test.Case?, _ body: @concurrent @Sendable () async throws -> Void
  ) async throws {
    let noting: IssueHandlingTrait = .compactMapIssues { issue in
      self.props.withLock { $0.hasFailed = true }
      return issue
    }
    try await Self.$ofThisTest.withValue(self) {
      try await noting.provideScope(for: test, testCase: testCase) {
        do {
          try await body()
        } catch {
          // It is recorded only when it has left.
          self.props.withLock { $0.hasFailed = true }
          throw error
        }
        self.expectSecrecy()
      }
    }
  }

  /// No program says a secret on its standard error, at any level, whatever the test was about.
  private func expectSecrecy() {
    let props = props.withLock { $0 }
    let search = SecretSearch(
      Dictionary(props.secrets.map { ("a secret of \($0.utf8.count) bytes", $0) }) { one, _ in one }
    )
    for process in props.processes where !Self.mayTell.contains(process.name) {
      let text = process.errors
      let found =
        SecretShapes.found(in: text) + search.found(in: Array(text.utf8))
        + props.phrases.filter { text.contains($0) }
      if !found.isEmpty {
        Issue.record("\(process.name) wrote \(found.joined(separator: ", ")) to standard error")
      }
    }
  }

  /// What is not ours, and starts none of ours.
  private static let mayTell: Set = ["credd-sandbox", "moto_server"]
  private static let mostSecrets = 64

  /// Notes a secret that was made: none of the programs may write a part of it to standard error.
  ///
  /// - Parameter isPhrase: it has words in it, so that only all of it is one.
  func note(secret: String, isPhrase: Bool = false) {
    // Moto gives IdentityIds for tokens.
    guard secret.utf8.count >= MemoryScan.tooMany, !secret.hasPrefix("us-east-1:") else { return }
    props.withLock { props in
      if isPhrase {
        props.phrases.insert(secret)
      } else if props.secrets.count < Self.mostSecrets {
        props.secrets.insert(secret)
      }
    }
  }

  /// The path of a file that is not there yet.
  func newFile(_ name: String) -> String {
    let number = props.withLock { props in
      props.files += 1
      return props.files
    }
    return "\(folder)/\(number)-\(name)"
  }

  /// A copy of a file that every user of the host can run, wherever the original is.
  func executable(_ original: String) throws -> String {
    let copy = newFile(URL(filePath: original).lastPathComponent)
    // Written by another process: a descriptor of ours that is open for writing, in a child that
    // another test forks just now, would make it "Text file busy".
    try ChildProcess(["/bin/cp", original, copy]).wait()
    unsafe chmod(copy, 0o755)
    return copy
  }

  func adopt(_ process: ChildProcess) {
    props.withLock { $0.processes.append(process) }
  }

  private func clear(after test: Test) {
    let (processes, hasFailed) = props.withLock { ($0.processes, $0.hasFailed) }
    for process in processes.reversed() { process.stop() }
    if hasFailed {
      for process in processes where !(process.output + process.errors).isEmpty {
        FileHandle.standardError.write(
          Data("--- \(test.name): \(process.name)\n\(process.output)\(process.errors)".utf8))
      }
    }
    try? FileManager.default.removeItem(atPath: folder)
  }
}

struct NoStage: Error, CustomStringConvertible {
  var description: String { "the suite lacks the trait '.onStage'" }
}

/// Gives each test of a suite its ``Stage``.
struct StageTrait: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  @concurrent
  func provideScope(
    for test: Test, testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await Stage.run(test, testCase, function)
  }
}

extension Trait where Self == StageTrait {
  /// Whatever the tests start ends with them.
  static var onStage: Self { StageTrait() }
}
