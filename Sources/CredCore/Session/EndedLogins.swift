/// Whose the logins were that have ended, or that a backend has linked, and to which identity.
///
/// Cognito keeps what is linked to an identity for good. So a login that comes later is compared with
/// this, as with one that is still held. While a session has no identity it may get the same one back:
/// only another identity ends this, and what the user asks for (a logout, `clear`, another user). It
/// has no secret.
struct EndedLogins: Sendable, Equatable {
  /// Cognito takes ten logins of a user at once; with other providers at other times there may be
  /// more.
  static let most = 2 * Limits.Upstream.logins

  private struct Content: Sendable, Equatable {
    let identityID: IdentityID
    /// By provider; nil for a login without a subject that can be read.
    var subjects: [String: String?] = [:]
  }

  @Boxed private var content: Content? = nil

  init() {}

  /// - Parameters:
  ///   - present: the identity of the session.
  ///   - last: the one before, if there is none.
  init(
    _ ended: [(provider: String, subject: String?)], of present: IdentityID?, or last: IdentityID?
  ) {
    guard let identityID = present ?? last else { return }
    if present == nil { content = Content(identityID: identityID) }
    for (provider, subject) in ended { add(provider, subject: subject, of: identityID) }
  }

  /// Whose these are; nil for nobody's.
  var identityID: IdentityID? { content?.identityID }

  /// In the order of their keys.
  var all: [(provider: String, subject: String?)] {
    (content?.subjects ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// The subjects of a provider's ended logins, whatever the spelling of its key.
  func subjects(of provider: String) -> [String?] {
    all.filter { LoginsMap.areSame($0.provider, provider) }.map(\.subject)
  }

  /// A login of an identity has ended. If there is no room, the first one is dropped.
  mutating func add(_ provider: String, subject: String?, of identityID: IdentityID) {
    var next =
      content.flatMap { $0.identityID == identityID ? $0 : nil }
      ?? Content(identityID: identityID)
    if next.subjects[provider] == nil, next.subjects.count >= Self.most,
      let first = next.subjects.keys.min()
    {
      next.subjects[first] = nil
    }
    next.subjects.updateValue(subject, forKey: provider)
    content = next
  }

  /// The provider has a login again.
  ///
  /// - Parameter present: the session's identity; while there is none, the last one is kept.
  mutating func remove(_ provider: String, _ present: IdentityID?) {
    guard content?.subjects.removeValue(forKey: provider) != nil else { return }
    if present != nil, all.isEmpty { content = nil }
  }

  /// The session has another identity, or none any more.
  mutating func identityChanged(from former: IdentityID?, to present: IdentityID?) {
    guard former != present else { return }
    if let present {
      if identityID != present || all.isEmpty { removeAll() }
    } else if content == nil, let former {
      content = Content(identityID: former)
    }
  }

  mutating func removeAll() { if content != nil { content = nil } }
}
