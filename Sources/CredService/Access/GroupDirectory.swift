import CredCore
package import Logging

/// The groups of the configuration about which the user database gave no answer. They are looked up
/// again, with growing pauses, until the database says whether they exist.
package final class GroupDirectory {
  static let firstPause: Duration = .seconds(5)
  static let longestPause: Duration = .seconds(5 * 60)
  /// If a look-up of all groups takes longer, credd does not wait, but still takes its answer.
  static let timeout: Duration = .seconds(30)

  private let clock: any Clock
  private let background: any Background
  private let queries: any HostQueries
  private let answered: ([String: GroupAnswer]) -> Void
  private var timer: (any Timer)?
  private var names: Set<String> = []
  private var pause = GroupDirectory.firstPause
  /// A look-up is under way, perhaps beyond its deadline: no second one begins.
  private var isAsking = false

  /// - Parameter answered: takes the answers that have come.
  init(
    clock: any Clock, background: any Background, queries: any HostQueries,
    answered: @escaping ([String: GroupAnswer]) -> Void
  ) {
    self.clock = clock
    self.background = background
    self.queries = queries
    self.answered = answered
    timer = clock.makeTimer { [unowned self] in self.lookUp() }
  }

  /// Looks up these groups from now on, and no others.
  func lookUpLater(_ names: Set<String>) {
    guard names != self.names else { return }
    self.names = names
    pause = Self.firstPause
    armTimer()
  }

  private func armTimer() {
    guard !isAsking else { return }
    timer?.arm(at: names.isEmpty ? nil : clock.now + pause)
  }

  private func lookUp() {
    guard !names.isEmpty, !isAsking else { return }
    isAsking = true
    let asked = names.sorted()
    background.run(.users, deadline: clock.now + Self.timeout) { [queries] in
      Dictionary(asked.map { ($0, queries.group($0)) }) { first, _ in first }
    } completion: { [weak self] outcome in
      self?.finish(outcome)
    }
  }

  private func finish(_ outcome: BackgroundOutcome<[String: GroupAnswer]>) {
    var answers: [String: GroupAnswer] = [:]
    switch outcome {
    case .overdue(isRunning: true): return
    case .overdue(isRunning: false): break
    case .finished(let found):
      answers = found.filter { $0.value != .unavailable && names.contains($0.key) }
    }
    isAsking = false
    pause = min(pause * 2, Self.longestPause)
    names.subtract(answers.keys)
    armTimer()
    if !answers.isEmpty { answered(answers) }
  }

  /// Logs a problem of a group that the operator must know.
  package static func report(_ answer: GroupAnswer, to name: String, _ log: Logger) {
    switch answer {
    case .group: break
    case .noSuchGroup:
      log.warning(
        """
        the host has no group of that name, so it admits nobody: correct allow_groups or \
        admin_group, or make the group, then reload
        """,
        metadata: ["group": "\(name)"])
    case .unavailable:
      log.warning(
        "the host's user database did not answer for a group; it is asked again",
        metadata: ["group": "\(name)"])
    }
  }
}
