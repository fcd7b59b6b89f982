/// A value that breaks a documented rule of Cognito, HTTP or credd, found before a call or in a
/// reply.
public struct InvalidInput: Error, Equatable, CustomStringConvertible {
  /// The value's name, in Cognito's or credd's spelling.
  public let field: String
  /// Follows the name in a message. Never quotes a secret.
  public let reason: String

  public init(field: String, reason: String) {
    self.field = field
    self.reason = reason
  }

  public var description: String { "\(field) \(reason)" }
}
