/// Whose the logins were that have ended, as long as the identity is kept to which they are linked.
///
/// A login that comes after the end of the former one is compared with this, as with one that is
/// still held. It has no secret.
struct EndedLogins: Sendable, Equatable {
  /// Cognito takes ten logins of a user at once; with other providers at other times there may be
  /// more.
  static let most = 2 * Limits.Upstream.logins

  /// By provider; nil for a login without a subject that can be read.
  @Boxed private var ended: [String: String?]? = nil

  /// In the order of their keys.
  var all: [(provider: String, subject: String?)] {
    (ended ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// The subjects of a provider's ended logins, whatever the spelling of its key.
  func subjects(of provider: String) -> [String?] {
    all.filter { LoginsMap.areSame($0.provider, provider) }.map(\.subject)
  }

  /// A login has ended. If there is no room, the first one is dropped.
  mutating func add(_ provider: String, subject: String?) {
    var next = ended ?? [:]
    if next[provider] == nil, next.count >= Self.most, let first = next.keys.min() {
      next[first] = nil
    }
    next.updateValue(subject, forKey: provider)
    ended = next
  }

  /// The provider has a login again.
  mutating func remove(_ provider: String) {
    guard var next = ended, next.removeValue(forKey: provider) != nil else { return }
    ended = next.isEmpty ? nil : next
  }

  mutating func removeAll() { if ended != nil { ended = nil } }
}
