/// A refresh with the developer token that a client brought.
extension Refresh {
  func callWithDeveloperToken(_ facts: RefreshFacts) -> UpstreamCall? {
    guard let token = facts.held.token, let identityID = facts.identity else { return nil }
    return exchange(token, identityID, facts)
  }

  /// The backend knows this user too. During a sign-in a bad token fails the sign-in instead.
  func remedyForDeveloperToken(_ failure: UpstreamFailure, _ facts: RefreshFacts) -> Remedy {
    guard failure.failureClass == .newTokenOnce, facts.plan.backend == .host, facts.signIn == nil
    else { return .none }
    return with(.newToken, dropping: .token) { $0.method = .host }
  }
}

extension HeldToken {
  /// A token of unknown lifetime is used in the refresh that received it, and never again.
  func isUsable(_ now: Instant) -> Bool {
    usableUntil > now || (received == now && usableUntil == received)
  }
}
