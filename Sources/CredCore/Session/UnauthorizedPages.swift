/// Since when a backend answers 401 by a web page, which a gateway before it may have sent, though a plain
/// framework may mean it. Such a page is believed if it comes again a minute after the first one, within a
/// quarter of an hour, and nothing else came in between. A restart forgets it, which costs a minute.
struct UnauthorizedPages: Sendable, Equatable {
  /// To callbacks.
  var session: Instant?
  /// To passwords.
  var signIn: Instant?

  /// The outcome of a call, with a repeated page as the backend's own word.
  ///
  /// - Parameter path: to what it answers so.
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
    case .providerTokens, .refreshTokenReplaced, .fileToken, .identity, .credentials: break
    }
    return outcome
  }
}

extension UpstreamFailure {
  /// Its meaning if it is repeated; nil for a failure that means the same each time.
  fileprivate var word: UpstreamFailure? {
    guard var word = ifRepeated else { return nil }
    word.detail = detail
    return word
  }
}
