import CredCore

/// The URLs of providers, from the configuration or from discovery documents, which are kept for
/// some time.
final class ProviderDiscovery {
  /// The provider whose discovery document was read. Two profiles with the same backend share it.
  private struct Key: Hashable {
    let issuer: OIDCIssuer
    let backend: String
    let caFile: String?
  }

  /// The known metadata of a provider, and how long they count.
  struct Known {
    let metadata: ProviderMetadata
    let until: Instant
  }

  private let clock: any Clock
  private var known: [Key: Known] = [:]

  init(_ clock: any Clock) {
    self.clock = clock
  }

  func forget() { known = [:] }

  /// - Parameter called: a provider, with what was fetched for the call.
  func metadata(
    of issuer: OIDCIssuer, for called: CalledBackend
  ) throws(Unprepared) -> ProviderMetadata {
    let backend = called.settings
    if let metadata = ProviderMetadata(issuer, configured: backend.kind.providerEndpoints) {
      return metadata
    }
    let key = Key(issuer: issuer, backend: backend.name, caFile: backend.kind.caFile)
    let known = self.known[key]
    if let known, known.until > clock.now { return known.metadata }
    switch try discovered(issuer, called) {
    case .success(let found):
      self.known[key] = found
      return found.metadata
    // While the provider cannot be asked, the known metadata are still used.
    case .failure(let failure):
      if let known, failure.failureClass.isTransient { return known.metadata }
      throw .failed(failure)
    }
  }

  /// The metadata that are known without a request; nil if there are none.
  func knownMetadata(of issuer: OIDCIssuer, for backend: BackendSettings) -> ProviderMetadata? {
    ProviderMetadata(issuer, configured: backend.kind.providerEndpoints)
      ?? known[Key(issuer: issuer, backend: backend.name, caFile: backend.kind.caFile)]?.metadata
  }

  /// What the document says at the issuer's address. The pool may have gone back to its original issuer
  /// meanwhile.
  private func discovered(
    _ issuer: OIDCIssuer, _ called: CalledBackend
  ) throws(Unprepared) -> Result<Known, UpstreamFailure> {
    let result = try called.inputs.document(at: issuer, discovery(issuer, at: issuer, called))
    guard case .failure(let failure) = result, !failure.failureClass.isTransient,
      let original = issuer.originalOfPool
    else { return result }
    return try called.inputs.document(at: original, discovery(issuer, at: original, called))
  }

  /// - Parameter place: the issuer at whose address the document is.
  private func discovery(
    _ issuer: OIDCIssuer, at place: OIDCIssuer, _ called: CalledBackend
  ) -> Exchange<Known> {
    let (clock, backend) = (clock, called.settings)
    let request = UpstreamRequest(
      place.discoveryRequest, backend.providerHTTP(timeout: backend.timeout),
      to: called.upstream, operation: "discovery")
    return Exchange(request: request) { reply throws(UpstreamFailure) in
      Known(
        metadata: try ProviderMetadata(
          from: reply, of: issuer, configured: backend.kind.providerEndpoints, for: backend.name),
        until: clock.now + ProviderMetadata.lifetime(of: reply))
    }
  }
}

extension BackendSettings {
  /// The HTTP settings for a provider's URLs.
  func providerHTTP(timeout: Duration) -> HTTPSettings {
    var settings = HTTPSettings(timeout: timeout, replyLimit: Limits.OIDC.replyBytes)
    settings.caFile = kind.caFile
    settings.hostOrigin = .key(kind is UserPoolSettings ? "domain" : "issuer")
    return settings
  }
}
