/// Since when a backend answers 401 with a web page. A gateway in front of the backend may have
/// sent the page, or a simple framework may really refuse. credd believes such a page if it comes
/// again a minute to a quarter of an hour after the first one, with no other answer in between. A
/// restart forgets the first page, which costs a minute.
struct UnauthorizedPages: Sendable, Equatable {
  /// As answer to callbacks.
  var session: Instant?
  /// As answer to passwords.
  var signIn: Instant?

  /// The outcome of a call. A repeated page counts as the backend's own answer.
  ///
  /// - Parameter path: the kind of request that got the page.
  mutating func judge(
    _ outcome: UpstreamOutcome, _ path: WritableKeyPath<UnauthorizedPages, Instant?>, _ now: Instant
  ) -> UpstreamOutcome {
    switch outcome {
    case .failed(let failure):
      if let word = failure.word {
        let known = self[keyPath: path].flatMap {
          now - $0 < RefreshPolicy.pageMemory ? $0 : nil
        }
        let first = known ?? now
        self[keyPath: path] = first
        return now < first + RefreshPolicy.pageDoubt ? outcome : .failed(word)
      }
      if case .backend = failure.upstream, !failure.isWithheld { self[keyPath: path] = nil }
    case .signedIn: self = UnauthorizedPages()
    case .token: session = nil
    case .providerTokens, .refreshTokenReplaced, .fileToken, .identity, .credentials,
      .sourceRenewed, .derived:
      break
    }
    return outcome
  }
}

extension UpstreamFailure {
  /// The meaning of the failure if it is repeated; nil if repetition does not change its meaning.
  fileprivate var word: UpstreamFailure? {
    guard var word = ifRepeated else { return nil }
    word.detail = detail
    return word
  }
}
