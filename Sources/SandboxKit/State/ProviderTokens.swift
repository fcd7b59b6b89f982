import FoundationEssentials

/// Tokens of public providers that only their provider could check: the sandbox is that provider.
struct ProviderTokens: Sendable {
  struct Entry: Sendable {
    var login: Login
    var expiration: Date
    /// The roles that a SAML assertion carries.
    var roles: [String] = []
  }

  static let maximumTokens = 10_000

  private var entries: [String: Entry] = [:]

  subscript(_ token: String) -> Entry? { entries[token] }

  mutating func store(_ entry: Entry, as token: String, at now: Date) throws(ServiceError) {
    if entries.count >= ProviderTokens.maximumTokens {
      entries = entries.filter { $0.value.expiration > now }
    }
    guard entries.count < ProviderTokens.maximumTokens else {
      throw ServiceError("LimitExceeded", "too many provider tokens are alive")
    }
    entries[token] = entry
  }

  @discardableResult
  mutating func revoke(_ token: String) -> Bool { entries.removeValue(forKey: token) != nil }
}
