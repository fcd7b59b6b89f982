/// Something that Cognito would refuse by its own documented rules, refused before any call.
public struct InvalidInput: Error, Equatable, CustomStringConvertible {
  /// What is wrong, in Cognito's or credd's own word for it.
  public let field: String
  /// Never quotes a secret.
  public let reason: String

  public init(field: String, reason: String) {
    self.field = field
    self.reason = reason
  }

  public var description: String { "\(field) \(reason)" }
}
