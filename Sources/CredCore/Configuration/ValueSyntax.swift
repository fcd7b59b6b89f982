/// A type of value: how it is read, and what it is called.
struct ValueSyntax<Value>: Sendable {
  /// With its article, for messages and for documentation: `a duration from 100ms to 1m`.
  let name: String
  /// Whether `${NAME}` is replaced.
  var takesVariables = false
  let read: @Sendable (ConfigurationValue) throws(InvalidValue) -> Value

  init(
    _ name: String, takesVariables: Bool = false,
    read: @escaping @Sendable (ConfigurationValue) throws(InvalidValue) -> Value
  ) {
    self.name = name
    self.takesVariables = takesVariables
    self.read = read
  }
}

extension ValueSyntax<String> {
  /// A text for which `isValid` holds. It is repeated in the message, so it is no secret.
  static func text(
    _ name: String, where isValid: @escaping @Sendable (String) -> Bool
  ) -> ValueSyntax {
    ValueSyntax(name) { value throws(InvalidValue) in
      let text = try value.text()
      guard isValid(text) else { throw InvalidValue("\(text.forMessage) is not \(name)") }
      return text
    }
  }
}

extension ValueSyntax<Int> {
  /// Decimal digits.
  static func integer(_ range: ClosedRange<Int>) -> ValueSyntax {
    let name = "a number from \(range.lowerBound) to \(range.upperBound)"
    return ValueSyntax(name) { value throws(InvalidValue) in
      let text = try value.text()
      guard text.utf8.allSatisfy(\.isDigit), let number = Int(text), range.contains(number) else {
        throw InvalidValue("\(text.forMessage) is not \(name)")
      }
      return number
    }
  }
}

extension ValueSyntax<Bool> {
  static var yesNo: ValueSyntax {
    ValueSyntax("yes or no") { value throws(InvalidValue) in
      let text = try value.text()
      switch text {
      case "yes", "true", "on": return true
      case "no", "false", "off": return false
      default: throw InvalidValue("\(text.forMessage) is neither yes nor no")
      }
    }
  }
}

extension ValueSyntax<Duration> {
  /// - Parameter isWhole: whether only whole seconds will do, which is what AWS counts in.
  static func duration(_ range: ClosedRange<Duration>, isWhole: Bool = false) -> ValueSyntax {
    let name = "a duration from \(range.lowerBound.written) to \(range.upperBound.written)"
    return ValueSyntax(name) { value throws(InvalidValue) in
      let text = try value.text()
      guard let duration = Duration(written: text) else {
        throw InvalidValue("\(text.forMessage) is not a duration such as 500ms, 90s, 5m or 1h30m")
      }
      guard range.contains(duration) else {
        throw InvalidValue("\(text.forMessage) is not \(name)")
      }
      guard !isWhole || duration.components.attoseconds == 0 else {
        throw InvalidValue("\(text.forMessage) is not a whole number of seconds")
      }
      return duration
    }
  }
}

extension ValueSyntax<Rate> {
  static var rate: ValueSyntax {
    let name = "a rate from 1/m to \(Rate.most)/s"
    return ValueSyntax(name) { value throws(InvalidValue) in
      let text = try value.text()
      guard let rate = Rate(written: text) else {
        throw InvalidValue("\(text.forMessage) is not \(name), such as 25/s")
      }
      return rate
    }
  }
}

extension ValueSyntax
where Value: CaseIterable & RawRepresentable & Sendable, Value.RawValue == String {
  /// One of the cases, by its raw value.
  static var choice: ValueSyntax {
    let known = Value.allCases.map(\.rawValue)
    let list = known.joined(separator: ", ")
    return ValueSyntax("one of \(list)") { value throws(InvalidValue) in
      let text = try value.text()
      guard let choice = Value(rawValue: text) else {
        throw InvalidValue(
          "\(text.forMessage) is not known"
            + NearestName.suggestion(
              text, in: known, otherwise: "; known are \(list)"))
      }
      return choice
    }
  }
}
