/// The faults to come, in the order in which they were asked for.
struct FaultPlan: Sendable {
  static let maximumFaults = 256

  private(set) var faults: [Fault] = []

  mutating func add(_ fault: Fault) throws(ServiceError) {
    guard faults.count < FaultPlan.maximumFaults else {
      throw ServiceError("LimitExceeded", "more than \(FaultPlan.maximumFaults) faults planned")
    }
    faults.append(fault)
  }

  mutating func clear() { faults = [] }

  /// The first fault that hits this call, which is then one call nearer to its end.
  mutating func take(for call: ServiceCall) -> Fault? {
    guard let index = faults.firstIndex(where: { $0.hits(call) }) else { return nil }
    let fault = faults[index]
    if let count = fault.count {
      if count > 1 { faults[index].count = count - 1 } else { faults.remove(at: index) }
    }
    return fault
  }
}
