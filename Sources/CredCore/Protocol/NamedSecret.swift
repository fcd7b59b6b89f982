/// A value with its name: an attribute of a user, or a parameter of a challenge.
public struct NamedSecret: Sendable, Equatable {
  public let name: String
  public let value: Secret

  public init(name: String, value: Secret) {
    self.name = name
    self.value = value
  }
}
