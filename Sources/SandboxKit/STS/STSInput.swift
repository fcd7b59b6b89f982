/// Reads the parameters of one call of STS and collects all violations, because AWS reports them
/// together. An unknown parameter is one: a misspelt one must not pass silently.
struct STSInput {
  private let form: FormParameters
  private var violations: [String] = []
  private var known: Set<String> = ["Action", "Version"]

  init(_ form: FormParameters) {
    self.form = form
  }

  /// A required text. Empty where it is absent, which `finish` then reports.
  mutating func text(_ name: String, _ rule: InputRule) -> String {
    if let text = optionalText(name, rule) { return text }
    violations.append(
      "Value null at '\(member(name))' failed to satisfy constraint: Member must not be null")
    return ""
  }

  mutating func optionalText(_ name: String, _ rule: InputRule) -> String? {
    known.insert(name)
    guard let value = form[name] else { return nil }
    if let violation = rule.violation(of: value, at: member(name)) { violations.append(violation) }
    return value
  }

  mutating func optionalInteger(
    _ name: String, in range: ClosedRange<Int>
  ) throws(ServiceError) -> Int? {
    known.insert(name)
    guard let text = form[name] else { return nil }
    guard let number = Int(text) else {
      throw ServiceError("ValidationError", "\(name) is not a number: '\(text)'")
    }
    let start = "Value '\(number)' at '\(member(name))' failed to satisfy constraint: Member must "
    if number < range.lowerBound {
      violations.append(start + "have value greater than or equal to \(range.lowerBound)")
    } else if number > range.upperBound {
      violations.append(start + "have value less than or equal to \(range.upperBound)")
    }
    return number
  }

  /// The texts of `NAME.member.1SUFFIX`, `NAME.member.2SUFFIX` and so on; the suffix may be empty.
  mutating func list(_ name: String, _ suffix: String, _ rule: InputRule) -> [String] {
    var texts: [String] = []
    while let text = optionalText("\(name).member.\(texts.count + 1)\(suffix)", rule) {
      texts.append(text)
    }
    return texts
  }

  mutating func report(_ violation: String) { violations.append(violation) }

  /// Throws the collected violations.
  mutating func finish() throws(ServiceError) {
    if let other = form.names.filter({ !known.contains($0) }).min() {
      violations.append("The operation has no parameter \(other)")
    }
    guard violations.isEmpty else {
      throw ServiceError("ValidationError", CognitoInput.summary(of: violations))
    }
  }

  private func member(_ name: String) -> String { name.prefix(1).lowercased() + name.dropFirst() }
}

/// The session policies of a call.
struct SessionPolicies {
  private static let maximumARNs = 10

  let documents: [PolicyDocument]?
  /// Bytes that they take in a session token.
  let size: Int

  /// - Parameter input: `Policy` and `PolicyArns` are read; whoever calls finishes it.
  init(_ input: inout STSInput) throws(ServiceError) {
    let policy = input.optionalText("Policy", .sessionPolicy)
    let arns = input.list("PolicyArns", ".arn", .arn)
    if arns.count > SessionPolicies.maximumARNs {
      input.report("Only \(SessionPolicies.maximumARNs) managed session policies may be passed")
    }
    var documents: [PolicyDocument] = []
    if let policy, InputRule.sessionPolicy.violation(of: policy, at: "") == nil {
      documents.append(try PolicyDocument(policy))
    }
    for arn in arns { documents.append(try ManagedPolicy.document(arn)) }
    self.documents = documents.isEmpty ? nil : documents
    size = (policy?.utf8.count ?? 0) + arns.reduce(0) { $0 + $1.utf8.count }
  }
}

extension InputRule {
  private static let nameBytes = Set("+=,.@-".utf8)

  static let roleSessionName = InputRule(2...64, pattern: #"[\w+=,.@-]*"#) {
    $0.utf8.allSatisfy { isWord($0) || nameBytes.contains($0) }
  }

  static let sourceIdentity = InputRule(2...256, pattern: #"[\w+=,.@-]*"#) {
    $0.utf8.allSatisfy { isWord($0) || nameBytes.contains($0) }
  }

  /// Characters that STS takes in a policy.
  static let sessionPolicy = InputRule(
    1...2048, pattern: #"[\u0009\u000A\u000D\u0020-\u00FF]+"#, isSensitive: true
  ) {
    $0.unicodeScalars.allSatisfy {
      [9, 10, 13].contains($0.value) || (32...255).contains($0.value)
    }
  }
}
