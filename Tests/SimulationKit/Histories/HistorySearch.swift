import CredCore

extension History {
  /// Runs the history. The same history gives the same report.
  public func run(isTraced: Bool = false, fault: InjectedFault? = nil) -> SimulationReport {
    HistoryRun(self, isTraced: isTraced, fault: fault).run()
  }

  /// The shortest history found that violates the same promise: events are taken out, first halves,
  /// then ever smaller parts, as long as that helps (delta debugging; Zeller, 1999).
  public func shrunk(fault: InjectedFault? = nil) -> History {
    guard let wanted = run(fault: fault).violation?.invariant else { return self }
    var best = self
    var size = best.events.count / 2
    while size > 0 {
      var start = 0
      var hasHelped = false
      while start < best.events.count {
        var shorter = best
        shorter.events.removeSubrange(start..<min(start + size, best.events.count))
        if shorter.run(fault: fault).violation?.invariant == wanted {
          best = shorter
          hasHelped = true
        } else {
          start += size
        }
      }
      if !hasHelped || size > 1 { size /= 2 }
    }
    return best
  }
}
