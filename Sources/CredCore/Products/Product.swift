/// What a profile hands out.
public enum Product: String, Sendable {
  case credentials
  /// The tokens of the provider at which users sign in.
  case tokens

  /// What its sessions are renewed for, and what `check` asks for.
  public var checkedWant: Waiter.Want {
    switch self {
    case .credentials: .credentials
    case .tokens: .idToken
    }
  }
}
