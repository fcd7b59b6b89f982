extension Fingerprint {
  /// Covers a backend's address and its certificate authorities: the tokens that it gave go to no
  /// other address. The values of these settings are stored only in this form.
  ///
  /// - Parameter issuer: the issuer, for a provider.
  init(placeOf backend: BackendSettings?, _ issuer: ProviderIssuer?) {
    self.init()
    add(backend?.type.rawValue)
    for text in backend?.kind.addressSettings(of: issuer) ?? [] { add(text) }
  }
}
