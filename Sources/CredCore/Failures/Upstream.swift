extension Upstream {
  /// The error code of an upstream that cannot be used now.
  var unavailable: ProtocolErrorCode {
    switch self {
    case .cognitoIdentity, .sts: .cognitoUnavailable
    case .backend: .backendUnavailable
    }
  }
}

/// The service that credd called.
public enum Upstream: Sendable, Hashable, CustomStringConvertible {
  case cognitoIdentity
  case sts
  /// A backend, with the name of its section in the configuration.
  case backend(String)

  public var description: String {
    switch self {
    case .cognitoIdentity: "Cognito"
    case .sts: "STS"
    case .backend(let name): "backend '\(name)'"
    }
  }
}
