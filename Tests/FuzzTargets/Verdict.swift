/// What became of one input.
public enum Verdict: Sendable, Equatable {
  /// It was read as a value, and the second reading gives the same one.
  case accepted
  /// It was refused, and so does the second reading.
  case refused
  /// The property that the reader broke.
  case fault(String)

  /// The property that the reader broke; nil if there is none.
  public var fault: String? {
    if case .fault(let text) = self { text } else { nil }
  }

  /// Compares what the daemon read with the second reading. Nil is a refusal.
  public static func of<Value: Equatable>(
    _ what: String, _ value: Value?, _ second: Value?
  ) -> Verdict {
    switch (value, second) {
    case (nil, nil): .refused
    case (nil, _): .fault("\(what): refused, though the second reading accepts it")
    case (_, nil): .fault("\(what): accepted, though the second reading refuses it")
    case (let value?, let second?):
      value == second
        ? .accepted : .fault("\(what): read as \(value), by the second reading as \(second)")
    }
  }

  /// One verdict of several readers of one input: a fault, else accepted by any of them.
  public static func all(_ verdicts: [Verdict]) -> Verdict {
    if let fault = verdicts.first(where: { $0.fault != nil }) { return fault }
    return verdicts.contains(.accepted) ? .accepted : .refused
  }

  /// A fault unless the property holds.
  public static func check(_ property: Bool, _ fault: @autoclosure () -> String) -> Verdict {
    property ? .refused : .fault(fault())
  }
}
