/// When the tokens that a user signed in with run out, by their provider, as far as they say.
struct LoginExpirations: Sendable, Equatable {
  /// How long before its end somebody is told.
  static let warning: Duration = .seconds(5 * 60)

  struct End: Sendable, Equatable {
    let time: Instant
    var isTold = false
  }

  private(set) var ends: [String: End] = [:]

  init(_ ends: [String: End] = [:]) {
    self.ends = ends
  }

  /// Notes a provider's new token.
  ///
  /// - Parameter end: nil where it does not say. One that seems to be over when it comes is left to
  ///   Cognito: this host's clock may be wrong.
  mutating func set(_ provider: String, end: Instant?, now: Instant) {
    ends[provider] = end.flatMap { $0 > now ? End(time: $0) : nil }
  }

  mutating func remove(_ provider: String) {
    ends[provider] = nil
  }

  mutating func removeAll() {
    ends = [:]
  }

  /// Providers whose token is over.
  func over(at now: Instant) -> [String] {
    ends.filter { $0.value.time <= now }.keys.sorted()
  }

  /// When somebody is to be told next.
  var nextWarning: Instant? {
    ends.values.filter { !$0.isTold }.map { $0.time - Self.warning }.min()
  }

  /// What to tell now, each once.
  mutating func takeWarnings(at now: Instant) -> [(provider: String, end: Instant)] {
    let due = ends.filter { !$0.value.isTold && $0.value.time - Self.warning <= now }
    for provider in due.keys { ends[provider]?.isTold = true }
    return due.map { ($0.key, $0.value.time) }.sorted { $0.end < $1.end }
  }
}
