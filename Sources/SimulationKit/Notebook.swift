import CredCore

/// What is written down while a simulation runs. Apart from it, so that words can be made of its
/// state while it is looked at.
final class Notebook {
  private(set) var violation: Violation?
  private(set) var trace: [String] = []
  let isTraced: Bool

  init(isTraced: Bool) {
    self.isTraced = isTraced
  }

  func write(_ line: String) {
    trace.append(line)
  }

  /// The first is what counts: the rest may follow from it.
  func note(_ violation: Violation) {
    if self.violation == nil { self.violation = violation }
  }
}
