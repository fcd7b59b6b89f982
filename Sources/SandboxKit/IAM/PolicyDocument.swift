/// An IAM policy, as much of the language as the sandbox evaluates (IAM user guide, "IAM JSON policy
/// elements reference"): Version 2012-10-17, Effect, Action or NotAction, Resource, and the condition
/// operators StringEquals and StringLike.
///
/// It refuses everything else: a policy that was read in part would allow too much.
struct PolicyDocument: Sendable, Equatable {
  private let statements: [PolicyStatement]

  init(_ statements: [PolicyStatement]) {
    self.statements = statements
  }

  init(_ text: String) throws(ServiceError) {
    guard let json = JSON(parsing: Array(text.utf8)) else {
      throw PolicyDocument.malformed("Syntax errors in policy.")
    }
    try self.init(json)
  }

  init(_ json: JSON) throws(ServiceError) {
    guard let members = json.members, let statement = members["Statement"] else {
      throw PolicyDocument.malformed("Syntax errors in policy.")
    }
    try PolicyDocument.requireKnown(members, ["Version", "Id", "Statement"])
    guard members["Version"]?.text == "2012-10-17" else {
      throw PolicyDocument.notEvaluated("another Version than 2012-10-17")
    }
    var statements: [PolicyStatement] = []
    for element in statement.elements ?? [statement] {
      statements.append(try PolicyStatement(element))
    }
    self.init(statements)
  }

  /// One that allows an action everywhere.
  static func allowing(_ actions: [String]) -> PolicyDocument {
    let patterns = actions.compactMap { try? PolicyPattern($0) }
    let everything = (try? PolicyPattern("*")).map { [$0] } ?? []
    return PolicyDocument([
      PolicyStatement(isAllow: true, actions: patterns, resources: everything)
    ])
  }

  /// Whether it allows or denies a request; nil where it says nothing of it.
  func verdict(on request: AccessRequest) -> Bool? {
    let fitting = statements.filter { $0.applies(to: request) }
    if fitting.contains(where: { !$0.isAllow }) { return false }
    return fitting.isEmpty ? nil : true
  }

  static func requireKnown(
    _ members: [String: JSON], _ known: Set<String>
  ) throws(ServiceError) {
    if let other = members.keys.filter({ !known.contains($0) }).min() {
      throw notEvaluated("the element \(other)")
    }
  }

  static func malformed(_ message: String) -> ServiceError {
    ServiceError("MalformedPolicyDocument", message)
  }

  static func notEvaluated(_ what: String) -> ServiceError {
    malformed("The sandbox does not evaluate \(what).")
  }
}

/// What somebody wants to do to what.
struct AccessRequest: Sendable {
  /// As `s3:GetObject`.
  var action: String
  /// An ARN, or `*` where the action has none.
  var resource: String
  /// Values for conditions and variables, by their lower-case names.
  var values: [String: String] = [:]
}

/// One statement of a policy.
struct PolicyStatement: Sendable, Equatable {
  let isAllow: Bool
  private let actions: [PolicyPattern]
  private let excludesActions: Bool
  private let resources: [PolicyPattern]
  private let conditions: [PolicyCondition]

  fileprivate init(isAllow: Bool, actions: [PolicyPattern], resources: [PolicyPattern]) {
    self.isAllow = isAllow
    self.actions = actions
    self.resources = resources
    excludesActions = false
    conditions = []
  }

  fileprivate init(_ json: JSON) throws(ServiceError) {
    guard let members = json.members else {
      throw PolicyDocument.malformed("Syntax errors in policy.")
    }
    try PolicyDocument.requireKnown(
      members, ["Sid", "Effect", "Action", "NotAction", "Resource", "Condition"])
    switch members["Effect"]?.text {
    case "Allow": isAllow = true
    case "Deny": isAllow = false
    default: throw PolicyDocument.malformed("Syntax errors in policy.")
    }
    guard (members["Action"] == nil) != (members["NotAction"] == nil) else {
      throw PolicyDocument.malformed("Policy statement must contain actions.")
    }
    excludesActions = members["Action"] == nil
    actions = try PolicyStatement.actions(members["Action"] ?? members["NotAction"])
    resources = try PolicyStatement.resources(members["Resource"])
    conditions = try PolicyCondition.all(members["Condition"])
  }

  private static func actions(_ json: JSON?) throws(ServiceError) -> [PolicyPattern] {
    var patterns: [PolicyPattern] = []
    for text in try texts(json) {
      guard text == "*" || text.contains(":") else {
        throw PolicyDocument.malformed(
          "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.")
      }
      patterns.append(try PolicyPattern(text))
    }
    return patterns
  }

  private static func resources(_ json: JSON?) throws(ServiceError) -> [PolicyPattern] {
    guard let json else {
      throw PolicyDocument.malformed("Policy statement must contain resources.")
    }
    var patterns: [PolicyPattern] = []
    for text in try texts(json) {
      guard text == "*" || text.hasPrefix("arn:") else {
        throw PolicyDocument.malformed("Resource \(text) must be in ARN format or \"*\".")
      }
      patterns.append(try PolicyPattern(text))
    }
    return patterns
  }

  /// A text, or a list of texts.
  static func texts(_ json: JSON?) throws(ServiceError) -> [String] {
    if let text = json?.text { return [text] }
    guard let elements = json?.elements, !elements.isEmpty else {
      throw PolicyDocument.malformed("Syntax errors in policy.")
    }
    let texts = elements.compactMap(\.text)
    guard texts.count == elements.count else {
      throw PolicyDocument.malformed("Syntax errors in policy.")
    }
    return texts
  }

  fileprivate func applies(to request: AccessRequest) -> Bool {
    let isNamed = actions.contains {
      $0.matches(request.action, values: request.values, ignoringCase: true)
    }
    return isNamed != excludesActions
      && resources.contains { $0.matches(request.resource, values: request.values) }
      && conditions.allSatisfy { $0.holds(request.values) }
  }
}

/// One key of a condition: one of its patterns must fit the request's value.
private struct PolicyCondition: Sendable, Equatable {
  let key: String
  let patterns: [PolicyPattern]

  static func all(_ json: JSON?) throws(ServiceError) -> [PolicyCondition] {
    guard let json else { return [] }
    guard let operators = json.members else {
      throw PolicyDocument.malformed("Syntax errors in policy.")
    }
    try PolicyDocument.requireKnown(operators, ["StringEquals", "StringLike"])
    var conditions: [PolicyCondition] = []
    for (name, keys) in operators {
      guard let keys = keys.members else {
        throw PolicyDocument.malformed("Syntax errors in policy.")
      }
      for (key, values) in keys {
        var patterns: [PolicyPattern] = []
        for text in try PolicyStatement.texts(values) {
          patterns.append(try PolicyPattern(text, hasWildcards: name == "StringLike"))
        }
        conditions.append(PolicyCondition(key: key.lowercased(), patterns: patterns))
      }
    }
    return conditions
  }

  func holds(_ values: [String: String]) -> Bool {
    guard let value = values[key] else { return false }
    return patterns.contains { $0.matches(value, values: values) }
  }
}
