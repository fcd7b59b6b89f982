/// A backend's 401 in a web page. A gateway before the backend may have sent it, and a plain framework
/// may mean it: it is believed if it comes again a minute after the first one, within a quarter of an hour,
/// and nothing else came in between.
extension SessionMachine {
  /// Since when a backend answers so. A restart forgets it, which costs a minute.
  struct UnauthorizedPages: Sendable, Equatable {
    /// To callbacks.
    var session: Instant?
    /// To passwords.
    var signIn: Instant?
  }

  /// The outcome of a call, with a repeated page as the backend's own word.
  mutating func judged(_ outcome: UpstreamOutcome, _ now: Instant) -> UpstreamOutcome {
    let path: WritableKeyPath<UnauthorizedPages, Instant?> =
      awaitsPassword ? \.signIn : \.session
    switch outcome {
    case .failed(let failure):
      if let word = failure.word {
        var pages = unauthorizedPages ?? UnauthorizedPages()
        let known = pages[keyPath: path].flatMap {
          now - $0 < RefreshPolicy.pageMemory ? $0 : nil
        }
        let first = known ?? now
        pages[keyPath: path] = first
        unauthorizedPages = pages
        return now < first + RefreshPolicy.pageDoubt ? outcome : .failed(word)
      }
      if case .backend = failure.upstream, !failure.isWithheld {
        unauthorizedPages?[keyPath: path] = nil
      }
    case .signedIn: unauthorizedPages = nil
    case .token: unauthorizedPages?.session = nil
    case .poolTokens, .refreshTokenReplaced, .fileToken, .identity, .credentials: break
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
