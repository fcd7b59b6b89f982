package import CredCore

/// A kind of work with separate threads: work that hangs in one lane does not delay another lane.
package enum BackgroundLane: Int, CaseIterable, Sendable {
  /// The user database, which may ask a network directory.
  case users
  /// Programs of callers, which may be large and on slow disks.
  case programs
  /// Files that the configuration names.
  case files
  /// The start of a backend's command. Its file may be on a dead file server.
  case commands
  /// The state directory.
  case state
  /// Shared libraries.
  case libraries
  /// The configuration, at a reload.
  case configuration
  /// Proofs of passwords: some milliseconds of arithmetic, which must not delay other clients.
  case proofs
  /// The control groups, to find callers' units.
  case units

  /// A description of the lane's work, for people.
  package var purpose: String {
    switch self {
    case .users: "looking up users"
    case .programs: "looking at callers' programs"
    case .files: "reading files of the configuration"
    case .commands: "starting commands of backends"
    case .state: "writing the state directory"
    case .libraries: "loading libraries"
    case .configuration: "reading the configuration"
    case .proofs: "proving passwords"
    case .units: "finding callers' units"
    }
  }

  /// The most threads at once, including threads that hang.
  package var width: Int {
    switch self {
    case .users: 16
    case .programs, .files, .commands, .configuration: 4
    case .state: 1
    case .libraries, .proofs, .units: 2
    }
  }
}

/// How work on a thread ended.
package enum BackgroundOutcome<Value> {
  /// The work finished, in time or after ``overdue(isRunning:)``.
  case finished(Value)
  /// The work missed its deadline, or could not begin because every thread of the lane hangs. If
  /// running work finishes later, `finished` follows.
  case overdue(isRunning: Bool)
}

/// Runs blocking work on threads. Completions run on the loop's thread, never within `run`.
package protocol Background: AnyObject {
  /// Runs `work` on a thread of its lane, after the work that waits there.
  func run<Value: Sendable>(
    _ lane: BackgroundLane, deadline: Instant, _ work: @escaping @Sendable () -> Value,
    completion: @escaping (BackgroundOutcome<Value>) -> Void)
}

extension Background {
  /// Like ``run(_:deadline:_:completion:)``, with one completion: nil if the work is overdue. A
  /// later result is dropped.
  package func runOnce<Value: Sendable>(
    _ lane: BackgroundLane, deadline: Instant, _ work: @escaping @Sendable () -> Value,
    completion: @escaping (Value?) -> Void
  ) {
    // The completion is dropped once it was called, so that a thread that hangs keeps nothing of
    // the call.
    var waiting: ((Value?) -> Void)? = completion
    run(lane, deadline: deadline, work) { outcome in
      let completion = waiting.take()
      if case .finished(let value) = outcome { completion?(value) } else { completion?(nil) }
    }
  }
}
