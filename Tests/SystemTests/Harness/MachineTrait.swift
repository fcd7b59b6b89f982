import Foundation
import Synchronization
import Testing
import TestSupport

/// Gives each test the machine as it is after the installation: credd stopped and without a state,
/// its socket listening, no drop-ins, the usual configuration. If the test fails, the journal since
/// its beginning is printed.
struct MachineTrait: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  @concurrent
  func provideScope(
    for test: Test, testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    let result = await withTaskExecutorPreference(TestThread()) {
      () async -> Result<Void, any Error> in
      do {
        return .success(try await Self.run(test, testCase, function))
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  @concurrent
  private static func run(
    _ test: Test, _ testCase: Test.Case?, _ body: @concurrent @Sendable () async throws -> Void
  ) async throws {
    let machine = try Machine.current()
    try machine.reset()
    let hasFailed = Mutex(false)
    let noting: IssueHandlingTrait = .compactMapIssues { issue in
      hasFailed.withLock { $0 = true }
      return issue
    }
    try await noting.provideScope(for: test, testCase: testCase, performing: body)
    if hasFailed.withLock({ $0 }) {
      let journal = try machine.journalText()
      FileHandle.standardError.write(Data("--- \(test.name)\n\(journal)\n".utf8))
    }
  }
}

extension Trait where Self == MachineTrait {
  /// On the machine, alone.
  static var onMachine: Self { MachineTrait() }
}
