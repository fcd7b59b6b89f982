/// A profile's key `backend`, and its `developer_provider`, if it has one.
struct BackendReference {
  let name: String
  let position: SourcePosition
  var developerProvider: SourcePosition?
  /// `link_backend`.
  var link: (name: String, position: SourcePosition)?
  /// Whether only a provider will do, for which the way has rules of its own.
  var needsProvider = false
  let ofProvider: OfProvider

  /// The keys of a profile that depend on its provider.
  struct OfProvider {
    let tokens: [VendedToken]
    /// Whether programs get credentials, too.
    let vendsCredentials: Bool
    let tokensPosition: SourcePosition?
    let hosts: [(key: String, position: SourcePosition)]
  }
}
