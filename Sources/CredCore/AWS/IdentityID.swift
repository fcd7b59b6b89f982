/// An identity's id, `region:uuid` (Cognito API reference, IdentityId). It is no secret.
public struct IdentityID: Sendable, Hashable, CustomStringConvertible {
  public let description: String

  /// - Throws: if Cognito would refuse it: `[\w-]+:[0-9a-f-]+`, at most 55 characters.
  public init(_ text: String) throws(InvalidInput) {
    guard IdentityPoolID.isRegionalID(text) else {
      throw InvalidInput(field: "IdentityId", reason: "is not of the form REGION:UUID")
    }
    self.description = text
  }

  /// The region of the identity and of its pool.
  public var region: String { String(description.prefix { $0 != ":" }) }
}
