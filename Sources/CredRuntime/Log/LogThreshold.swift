public import Logging
internal import Synchronization

/// The level below which nothing is logged: one for all loggers, so that a reload can change it.
public final class LogThreshold: Sendable {
  private let level: Atomic<Int>

  public init(_ level: Logger.Level) {
    self.level = Atomic(level.rank)
  }

  public var current: Logger.Level {
    get { Logger.Level.allCases[level.load(ordering: .relaxed)] }
    set { level.store(newValue.rank, ordering: .relaxed) }
  }
}

extension Logger.Level {
  fileprivate var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
