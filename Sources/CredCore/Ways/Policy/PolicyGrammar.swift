/// The values that IAM allows in a statement (IAM user guide, "Grammar of the IAM JSON policy language" and
/// "Condition operators"). This grammar refuses nothing that IAM allows.
enum PolicyGrammar {
  /// "The Sid element supports ASCII uppercase letters, lowercase letters and numbers", and none of them is
  /// there twice.
  static func check(
    sid: JSONValue?, _ path: String, known: inout Set<String>
  ) throws(InvalidValue) {
    // A null has its own error.
    guard let sid, sid != .null else { return }
    guard let text = sid.text, text.utf8.allSatisfy(\.isLetterOrDigit) else {
      throw InvalidValue("\(path).Sid has other characters than letters and digits of ASCII")
    }
    guard text.isEmpty || known.insert(text).inserted else {
      throw InvalidValue("\(path).Sid is that of an earlier statement: \(text.singleQuoted)")
    }
  }

  /// `*`, or a service and an action of it.
  static func check(action: String, _ path: String) throws(InvalidValue) {
    let parts = action.split(separator: ":", omittingEmptySubsequences: false)
    let isAll = !action.isEmpty && action.utf8.allSatisfy { $0 == UInt8(ascii: "*") }
    guard isAll || parts.count > 1 && !parts.contains(where: \.isEmpty) else {
      throw InvalidValue(
        "\(path) names no service: \(action.singleQuoted); write SERVICE:ACTION such as "
          + "s3:GetObject, or *")
    }
  }

  /// `*`, or an ARN. A variable or a wildcard may stand for more than one part of it.
  static func check(resource: String, _ path: String) throws(InvalidValue) {
    let isOpen = resource.contains(where: { "*?".contains($0) }) || resource.contains(bytesOf: "${")
    let parts = resource.split(separator: ":", omittingEmptySubsequences: false).count
    let isARN = resource.lowercased().hasPrefix("arn:") && (parts >= 6 || isOpen)
    guard isARN || resource.first.map({ "*?$".contains($0) }) ?? false else {
      throw InvalidValue(
        "\(path) is no ARN: \(resource.singleQuoted); write one of six parts such as "
          + "arn:aws:s3:::bucket/*, or *")
    }
  }

  /// `StringEquals`, `ForAnyValue:StringLikeIfExists`.
  static func check(conditionOperator name: String, _ path: String) throws(InvalidValue) {
    var rest = name.lowercased()[...]
    for quantifier in ["forallvalues:", "foranyvalue:"] where rest.hasPrefix(quantifier) {
      rest = rest.dropFirst(quantifier.count)
    }
    if rest.hasSuffix("ifexists") { rest = rest.dropLast("ifexists".count) }
    guard !operators.contains(where: { $0.lowercased() == rest }) else { return }
    throw InvalidValue(
      "\(name.singleQuoted) in \(path) is no operator of IAM"
        + NearestName.suggestion(name, in: operators))
  }

  private static let operators = [
    "StringEquals", "StringNotEquals", "StringEqualsIgnoreCase", "StringNotEqualsIgnoreCase",
    "StringLike", "StringNotLike", "NumericEquals", "NumericNotEquals", "NumericLessThan",
    "NumericLessThanEquals", "NumericGreaterThan", "NumericGreaterThanEquals", "DateEquals",
    "DateNotEquals", "DateLessThan", "DateLessThanEquals", "DateGreaterThan",
    "DateGreaterThanEquals", "Bool", "BinaryEquals", "IpAddress", "NotIpAddress", "ArnEquals",
    "ArnLike", "ArnNotEquals", "ArnNotLike", "Null",
  ]
}
