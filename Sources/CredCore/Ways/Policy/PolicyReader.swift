/// Reads a session policy in JSON and writes it without white space, in parts.
struct PolicyReader {
  private(set) var parts: [SessionPolicy.Part] = []
  private(set) var warnings: [String] = []
  private var takesPlaceholders = false
  /// Whether the text so far has begun a variable of IAM, `${…}`.
  private var isVariable = false
  private var sids: Set<String> = []

  private static let members: Set = ["Version", "Id", "Statement"]
  private static let statementMembers: Set = [
    "Sid", "Effect", "Action", "NotAction", "Resource", "NotResource", "Condition",
  ]
  /// Actions by which a session gets another role's permissions.
  private static let ways = ["sts:assumerole", "iam:passrole"]

  mutating func read(_ policy: JSONValue) throws(InvalidValue) {
    let members = try Self.object(policy, "the policy", known: Self.members)
    // Without it IAM takes '${…}' for itself, and the escapes of names would be others.
    guard policy["Version"]?.text == "2012-10-17" else {
      throw InvalidValue("has no \"Version\": \"2012-10-17\"")
    }
    guard let statements = policy["Statement"] else { throw InvalidValue("has no Statement") }
    if case .array(let elements) = statements {
      guard !elements.isEmpty else { throw InvalidValue("has an empty Statement") }
      for (index, element) in elements.enumerated() { try check(element, "Statement[\(index)]") }
    } else {
      try check(statements, "Statement")
    }
    try write(members)
  }

  // MARK: What a statement is

  private mutating func check(_ statement: JSONValue, _ path: String) throws(InvalidValue) {
    _ = try Self.object(statement, path, known: Self.statementMembers)
    try PolicyGrammar.check(sid: statement["Sid"], path, known: &sids)
    let effect = statement["Effect"]?.text
    guard effect == "Allow" || effect == "Deny" else {
      throw InvalidValue("\(path) needs \"Effect\": \"Allow\" or \"Deny\"")
    }
    for (one, other) in [("Action", "NotAction"), ("Resource", "NotResource")]
    where (statement[one] == nil) == (statement[other] == nil) {
      throw InvalidValue("\(path) needs one of \(one) and \(other)")
    }
    for name in ["Action", "NotAction", "Resource", "NotResource"] {
      guard let value = statement[name] else { continue }
      let texts = try Self.texts(value, "\(path).\(name)")
      for text in texts {
        if name.hasSuffix("Action") {
          try PolicyGrammar.check(action: text, "\(path).\(name)")
        } else {
          try PolicyGrammar.check(resource: text, "\(path).\(name)")
        }
      }
      if effect == "Allow" { warn(of: name, texts, path) }
    }
    try Self.check(statement["Condition"], "\(path).Condition")
  }

  /// Operators, each with keys, each with a value or a list of values.
  private static func check(_ condition: JSONValue?, _ path: String) throws(InvalidValue) {
    guard let condition else { return }
    guard case .object(let operators) = condition else {
      throw InvalidValue("\(path) is no object")
    }
    for one in operators {
      guard case .object(let keys) = one.value else {
        throw InvalidValue("\(one.key.singleQuoted) in \(path) is no object")
      }
      try PolicyGrammar.check(conditionOperator: one.key, path)
      for key in keys where !isConditionValue(key.value) {
        throw InvalidValue("\(key.key.singleQuoted) in \(path) has no value and no list of values")
      }
    }
  }

  private static func isConditionValue(_ value: JSONValue) -> Bool {
    switch value {
    case .null, .object: false
    case .bool, .number, .string: true
    case .array(let elements):
      elements.allSatisfy { if case .array = $0 { false } else { isConditionValue($0) } }
    }
  }

  private mutating func warn(of name: String, _ texts: [String], _ path: String) {
    if name == "NotAction" {
      warnings.append("\(path) allows by NotAction: all that AWS adds is allowed, too")
    }
    guard name == "Action" else { return }
    for way in Self.ways where texts.contains(where: { GlobPattern($0.lowercased()).matches(way) })
    {
      let action = way == "sts:assumerole" ? "sts:AssumeRole" : "iam:PassRole"
      warnings.append(
        "\(path) allows \(action): by another role a program leaves this policy behind")
    }
  }

  private static func object(
    _ value: JSONValue, _ path: String, known: Set<String>
  ) throws(InvalidValue) -> [JSONMember] {
    guard case .object(let members) = value else { throw InvalidValue("\(path) is no object") }
    if let other = members.first(where: { !known.contains($0.key) }) {
      throw InvalidValue(
        "\(path) has a member that a session policy does not have: "
          + other.key.singleQuoted)
    }
    return members
  }

  /// A text, or a list of texts.
  private static func texts(_ value: JSONValue, _ path: String) throws(InvalidValue) -> [String] {
    if let text = value.text { return [text] }
    guard case .array(let elements) = value, !elements.isEmpty else {
      throw InvalidValue("\(path) is no text and no list of texts")
    }
    let texts = elements.compactMap(\.text)
    guard texts.count == elements.count else {
      throw InvalidValue("\(path) is no text and no list of texts")
    }
    return texts
  }

  // MARK: The text

  private mutating func write(_ members: [JSONMember]) throws(InvalidValue) {
    append("{")
    for (index, member) in members.enumerated() {
      if index > 0 { append(",") }
      let tookPlaceholders = takesPlaceholders
      takesPlaceholders = false
      try write(text: member.key)
      append(":")
      // The keys of conditions are no values.
      takesPlaceholders = tookPlaceholders || member.key == "Resource" || member.key == "Condition"
      try write(member.value)
      takesPlaceholders = tookPlaceholders
    }
    append("}")
  }

  private mutating func write(_ value: JSONValue) throws(InvalidValue) {
    switch value {
    case .null: throw InvalidValue("has a null in it")
    case .bool(let bool): append(bool ? "true" : "false")
    case .number(let digits): append(digits)
    case .string(let secret): try write(text: secret.exposedText() ?? "")
    case .object(let members): try write(members)
    case .array(let elements):
      append("[")
      for (index, element) in elements.enumerated() {
        if index > 0 { append(",") }
        try write(element)
      }
      append("]")
    }
  }

  private mutating func write(text: String) throws(InvalidValue) {
    append("\"")
    isVariable = false
    var rest = text[...]
    while let character = rest.unicodeScalars.first {
      if let placeholder = try placeholder(in: &rest) {
        parts.append(.placeholder(placeholder))
        continue
      }
      if character == "}" { isVariable = false } else if rest.hasPrefix("${") { isVariable = true }
      rest = Substring(rest.unicodeScalars.dropFirst())
      switch character {
      case "\"", "\\": append("\\\(character)")
      case _ where character.value < 0x20 || character.value == 0x7F:
        throw InvalidValue("has a control character in it")
      case _ where character.value > 0xFF:
        throw InvalidValue("has a character in it that STS does not take (over U+00FF)")
      default: append(String(character))
      }
    }
    append("\"")
  }

  /// Takes a placeholder from the start of a text, if there is one.
  private func placeholder(
    in rest: inout Substring
  ) throws(InvalidValue) -> Template.Placeholder? {
    for placeholder in Template.Placeholder.allCases {
      let name = "{\(placeholder.rawValue)}"
      if rest.hasPrefix("$" + name) {
        throw InvalidValue("has $\(name) in it: credd's placeholder is \(name), without a $")
      }
      guard rest.hasPrefix(name) else { continue }
      guard takesPlaceholders else {
        throw InvalidValue("has \(name) outside the values of Resource and Condition")
      }
      // There it would be the name of a variable, and not a text.
      guard !isVariable else {
        throw InvalidValue("has \(name) within a variable of IAM, '${…}', which a name cannot fill")
      }
      rest = rest.dropFirst(name.count)
      return placeholder
    }
    return nil
  }

  private mutating func append(_ text: String) {
    if case .literal(let last) = parts.last {
      parts[parts.count - 1] = .literal(last + text)
    } else {
      parts.append(.literal(text))
    }
  }
}
