/// A session's state as clients see it.
public enum ReportedState: String, Sendable, Hashable, CaseIterable {
  case signedOut
  case guest
  case signedIn
  /// Upstream no longer accepts the tokens: a new `login` is needed.
  case tokensInvalid
}
