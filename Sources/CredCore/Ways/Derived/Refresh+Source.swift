/// A refresh of a derived session: its source is asked, and STS with what the source has.
extension Refresh {
  // MARK: Remedies

  /// STS does not take the source's credentials, or an older session of the source's role may have been
  /// revoked: the source is renewed, once.
  func remedyForSource(_ failure: UpstreamFailure, _ facts: RefreshFacts) -> Remedy {
    switch failure.failureClass {
    case .newTokenOnce: return with(.newToken) { $0.beginAnew() }
    case .poolMisconfigured
    where failure.reason == "AccessDenied" && facts.source?.isOld(facts.now) ?? false:
      return with(.newToken) { $0.beginAnew() }
    default: return .none
    }
  }
}
