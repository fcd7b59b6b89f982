internal import CredCore

extension GetRequest {
  /// Whether any credentials of the caller's own that are fresh will do.
  var isPlain: Bool { minTTL == nil && !refresh && user == nil }
}

extension Standing {
  /// In the words of the contract.
  var reported: ReportedState {
    switch self {
    case .signedOut: .signedOut
    case .guest: .guest
    case .signedIn: .signedIn
    case .tokensInvalid: .tokensInvalid
    }
  }
}

extension Request {
  /// Whether a password came with it, so that its failure counts.
  var isPasswordSignIn: Bool {
    guard case .login(let login) = operation, case .password = login.signIn else { return false }
    return true
  }
}

extension ProtocolError {
  /// For what cannot happen: the machine decides to give only what it holds. Nobody is left waiting.
  static let nothingHeld = ProtocolError(
    .internal, "the session holds nothing to give; report this")
}
