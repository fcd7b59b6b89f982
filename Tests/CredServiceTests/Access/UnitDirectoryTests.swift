import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

struct UnitDirectoryTests {
  /// Used on the test's thread alone.
  private final class Groups: ControlGroupQueries, @unchecked Sendable {
    var paths: [UInt64: String] = [7: "/system.slice/billing.service"]
    /// Whether walks fail, as where there are no descriptors left.
    var fails = false
    private(set) var walks = 0

    func path(ofControlGroup id: UInt64) -> ControlGroupSearch {
      walks += 1
      return fails ? .failed : paths[id].map { .found($0) } ?? .missing
    }

    func isThere(_ path: String, _ id: UInt64) -> Bool { paths[id] == path }
  }

  private let host = FakeHost()
  private let groups = Groups()

  private func directory() -> UnitDirectory {
    UnitDirectory(clock: host.clock, background: host.background, queries: groups)
  }

  private func find(
    _ group: UInt64, _ directory: UnitDirectory, for uid: UInt32 = 1000
  ) -> UnitDirectory.Answer? {
    var answer: UnitDirectory.Answer?
    directory.find(group, for: uid) { answer = $0 }
    expect(answer == nil)
    host.advance(by: .seconds(1))
    return answer
  }

  private let billing = ControlGroup(id: 7, path: "/system.slice/billing.service")

  @Test func aUnitIsFoundOnceAndRemembered() {
    let directory = directory()
    expect(directory.known(7) == nil)
    expect(find(7, directory), equals: .group(billing))
    expect(directory.known(7)?.unit, equals: "billing.service")
    expect(groups.walks, equals: 1)
  }

  @Test func aGroupThatHasEndedIsNoUnitsAnyMore() {
    let directory = directory()
    expect(find(7, directory), equals: .group(billing))
    groups.paths = [:]
    expect(!directory.isThere(billing))
    expect(directory.known(7) == nil)
    expect(find(7, directory), equals: .group(nil))
    expect(directory.known(7) == nil)
  }

  @Test func aGroupThatIsNotFoundIsNotLookedForAgainForAMoment() {
    let directory = directory()
    var answers: [UnitDirectory.Answer] = []
    directory.find(8, for: 1000) { answers.append($0) }
    host.advance(by: .milliseconds(1))
    expect(answers, equals: [.group(nil)])
    expect(directory.isMissing(8) && !directory.isMissing(7))
    host.advance(by: Limits.Endpoint.missingUnitTime - .milliseconds(2))
    expect(directory.isMissing(8))
    host.advance(by: .milliseconds(2))
    expect(!directory.isMissing(8))
    groups.paths[8] = "/system.slice/late.service"
    expect(
      find(8, directory), equals: .group(ControlGroup(id: 8, path: "/system.slice/late.service")))
    expect(!directory.isMissing(8))
  }

  /// It may be there: the next connection looks again.
  @Test func aGroupWhoseWalkFailsIsNotMissing() {
    let directory = directory()
    groups.fails = true
    var answers: [UnitDirectory.Answer] = []
    directory.find(7, for: 1000) { answers.append($0) }
    host.advance(by: .milliseconds(1))
    expect(answers, equals: [.group(nil)])
    expect(!directory.isMissing(7))
    groups.fails = false
    expect(find(7, directory), equals: .group(billing))
  }

  /// It may be there, and could not be looked for in time.
  @Test func aGroupWhoseWalkHangsIsNotMissing() {
    host.background.time[.units] = .some(nil)
    let directory = directory()
    directory.find(7, for: 1000) { _ in }
    host.advance(by: Limits.Endpoint.unitTime)
    expect(!directory.isMissing(7))
  }

  @Test func theGroupsThatAreMissingAreLimited() {
    let directory = directory()
    for id in 100...(100 + UInt64(Limits.Endpoint.units)) {
      directory.find(id, for: 1000) { _ in }
      host.advance(by: .microseconds(10))
    }
    expect(!directory.isMissing(100))
    expect(directory.isMissing(100 + UInt64(Limits.Endpoint.units)))
  }

  @Test func callersOfOneGroupShareAWalk() {
    let directory = directory()
    var answers: [UnitDirectory.Answer] = []
    for uid in 0..<5 as Range<UInt32> { directory.find(7, for: uid) { answers.append($0) } }
    host.advance(by: .seconds(1))
    expect(answers, equals: Array(repeating: .group(billing), count: 5))
    expect(groups.walks, equals: 1)
  }

  @Test func aWalkThatHangsIsGivenUp() {
    host.background.time[.units] = .some(nil)
    let directory = directory()
    expect(find(7, directory), equals: .overdue)
    expect(directory.known(7) == nil)
  }

  @Test func oneUsersManyGroupsHoldUpNobodyElse() {
    host.background.time[.units] = .milliseconds(400)
    let directory = directory()
    var found: [UInt64] = []
    for id in 100..<164 as Range<UInt64> {
      directory.find(id, for: 1001) { if case .group = $0 { found.append(id) } }
    }
    var answer: UnitDirectory.Answer?
    directory.find(7, for: 1000) { answer = $0 }
    host.advance(by: .milliseconds(450))
    expect(answer, equals: .group(billing))
    expect(found, equals: [100])
    expect(find(7, directory, for: 1001) != nil)
  }

  @Test func behindManyGroupsAnAnswerComesInTime() {
    host.background.time[.units] = .milliseconds(400)
    let directory = directory()
    var (overdue, found): ([UInt64], [UInt64]) = ([], [])
    for id in 100..<164 as Range<UInt64> {
      groups.paths[id] = "/user.slice/\(id)"
      directory.find(id, for: 1001) {
        if $0 == .overdue { overdue.append(id) } else { found.append(id) }
      }
    }
    host.advance(by: .milliseconds(500))
    expect(found, equals: [100])
    expect(overdue, equals: Array(101..<164))
    // The walk that had begun is of use for the next request; those that nobody waits for are not
    // made.
    host.advance(by: .seconds(30))
    expect(directory.known(101)?.id, equals: 101)
    expect(groups.walks, equals: 2)
    expect(find(102, directory, for: 1001), equals: .group(directory.known(102)))
  }

  @Test func groupsThatTakeTheirTurnAreFoundInOrder() {
    host.background.time[.units] = .milliseconds(50)
    let directory = directory()
    var found: [UInt64] = []
    for id in 100..<109 as Range<UInt64> {
      directory.find(id, for: 1001) { _ in found.append(id) }
    }
    host.advance(by: .milliseconds(499))
    expect(found, equals: Array(100..<109))
  }

  /// A session's group has processes of its user and, by sudo, of root.
  @Test func nobodyWaitsInAnotherUsersQueue() {
    host.background.time[.units] = .milliseconds(400)
    let directory = directory()
    for id in 100..<104 as Range<UInt64> { directory.find(id, for: 1001) { _ in } }
    directory.find(7, for: 1001) { _ in }
    var answer: UnitDirectory.Answer?
    directory.find(7, for: 0) { answer = $0 }
    host.advance(by: .milliseconds(450))
    expect(answer, equals: .group(billing))
  }

  @Test func aGroupThatWasForgottenForOthersIsStillThere() {
    let directory = directory()
    expect(find(7, directory), equals: .group(billing))
    for id in 1000...1000 + UInt64(Limits.Endpoint.units) {
      groups.paths[id] = "/user.slice/\(id)"
      directory.find(id, for: 1001) { _ in }
      host.advance(by: .milliseconds(1))
    }
    expect(directory.known(7) == nil)
    expect(directory.isThere(billing))
  }
}
