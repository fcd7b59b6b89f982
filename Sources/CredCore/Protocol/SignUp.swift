/// A new account.
public struct SignUp: Sendable, Equatable {
  public let username: String
  public let password: Secret
  public let attributes: [NamedSecret]

  public init(username: String, password: Secret, attributes: [NamedSecret] = []) {
    self.username = username
    self.password = password
    self.attributes = attributes
  }

  /// Secrets that messages must not repeat.
  public var secrets: [Secret] { [password] + attributes.map(\.value) }
}

/// A backend's answer to a sign-up.
public struct SignUpResult: Sendable, Equatable {
  /// Whether the user may sign in now.
  public var isConfirmed = true
  /// The destination of the confirmation code, as the backend gives it.
  public var delivery: Delivery?

  public struct Delivery: Sendable, Equatable {
    public let medium: String
    public let destination: String
  }

  public init() {}
}
