/// Providers of different parties must not share a redirect URI.
///
/// If two providers shared a redirect URI, a browser's response would not show which of them gave
/// the code. Only some providers name their issuer in it (RFC 9700, 4.4). A provider could send the
/// browser on to the other one, and credd would then send it the other's code and the verifier.
extension ConfigurationReader {
  private struct Provider {
    let name: String
    let party: String
    let redirectURIs: [RedirectURI]
  }

  mutating func checkRedirectURIs() {
    let providers = configuration.backends.values.compactMap(Self.provider)
      .sorted { $0.name < $1.name }
    for (index, provider) in providers.enumerated() {
      for other in providers[..<index] where provider.party != other.party {
        guard
          let shared = provider.redirectURIs.first(where: { uri in
            other.redirectURIs.contains { $0.mayBeSame(as: uri) }
          })
        else { continue }
        diagnostics.error(
          at: positions["backend \(provider.name)/redirect_uri"],
          "redirect_uri: \(shared.description.singleQuoted) is one of [backend \(other.name)] too, "
            + "another provider: either could get the other's codes; register one with a path of its own"
        )
      }
    }
  }

  private static func provider(_ backend: BackendSettings) -> Provider? {
    guard let kind = backend.kind as? any ProviderKind else { return nil }
    return Provider(
      name: backend.name, party: kind.party,
      redirectURIs: kind.browser.redirectURIs(of: backend.name))
  }
}

extension RedirectURI {
  /// Whether a browser could come back to the same address for both URIs.
  func mayBeSame(as other: RedirectURI) -> Bool {
    guard url.isEncrypted == other.url.isEncrypted, url.host == other.url.host,
      url.path.utf8.elementsEqual(other.url.path.utf8)
    else { return false }
    return takesAnyPort || other.takesAnyPort
      || url.authority.lowercased() == other.url.authority.lowercased()
  }
}
