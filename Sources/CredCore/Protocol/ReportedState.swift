/// A session's state in the words of the contract.
public enum ReportedState: String, Sendable, Hashable, CaseIterable {
  case signedOut
  case guest
  case signedIn
  /// Signed in, but upstream no longer takes the tokens: a new `login` is needed.
  case tokensInvalid
}
