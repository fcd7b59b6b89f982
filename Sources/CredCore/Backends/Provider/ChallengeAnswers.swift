/// The answers of a `respond`: texts by their names, and attributes.
public struct ChallengeAnswers: Sendable, Equatable {
  public let texts: [NamedSecret]
  /// Nil if there is no `attributes`.
  public let attributes: [NamedSecret]?

  public init(_ texts: [NamedSecret], attributes: [NamedSecret]? = nil) {
    self.texts = texts
    self.attributes = attributes
  }

  subscript(_ name: String) -> Secret? { texts.first { $0.name == name }?.value }

  /// Throws if an answer is missing, or if there is an answer that the step does not take.
  func check(fit step: SignInStep) throws(ProtocolError) {
    let names = texts.map(\.name) + (attributes == nil ? [] : ["attributes"])
    let taken = step.answers + step.optional
    if let stray = names.first(where: { !taken.contains($0) }) {
      throw .invalid(
        "answer \(stray.quoted) does not belong to the step \(step.name.quoted), which takes "
          + taken.map(\.quoted).joined(separator: ", "))
    }
    guard step.answers.allSatisfy(names.contains) else {
      throw .invalid(
        "the step \(step.name.quoted) needs the answer "
          + step.answers.map(\.quoted).joined(separator: ", "))
    }
  }
}
