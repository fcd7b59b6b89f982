/// Whom credd called.
public enum Upstream: Sendable, Hashable, CustomStringConvertible {
  case cognitoIdentity
  case sts
  /// By the name of its section in the configuration.
  case backend(String)

  public var description: String {
    switch self {
    case .cognitoIdentity: "Cognito"
    case .sts: "STS"
    case .backend(let name): "backend \(name)"
    }
  }
}
