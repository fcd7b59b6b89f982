/// Names one upstream call, from the machine that wants it to the outcome that comes back.
///
/// The same id stands for the call in the session's machine, in the queue of its upstream endpoint and in the
/// exchange. An id is never used again, so a late outcome cannot name another call.
public struct CallID: Hashable, Comparable, Sendable, CustomStringConvertible {
  let number: UInt64

  public static func < (one: CallID, other: CallID) -> Bool { one.number < other.number }

  public var description: String { String(number) }
}

/// Gives each id of a call once. A daemon has one generator.
public struct CallIDs: Sendable {
  private var last: UInt64 = 0

  public init() {}

  public mutating func next() -> CallID {
    last += 1
    return CallID(number: last)
  }
}
