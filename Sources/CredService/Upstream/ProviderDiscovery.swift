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
  private struct Known {
    let metadata: ProviderMetadata
    let until: Instant
  }

  private let sender: Sender
  private var known: [Key: Known] = [:]

  init(_ sender: Sender) {
    self.sender = sender
  }

  func forget() { known = [:] }

  /// - Parameter called: a provider, in the turn of the call that needs them.
  func metadata(
    of issuer: OIDCIssuer, for called: CalledBackend,
    _ done: @escaping Completion<ProviderMetadata>
  ) {
    let backend = called.settings
    if let metadata = ProviderMetadata(issuer, configured: backend.kind.providerEndpoints) {
      return done(.success(metadata))
    }
    let key = Key(issuer: issuer, backend: backend.name, caFile: backend.kind.caFile)
    let known = self.known[key]
    if let known, known.until > sender.services.clock.now { return done(.success(known.metadata)) }
    discoverPool(issuer, called) { [unowned self] result in
      switch result {
      case .success(let found):
        self.known[key] = found
        done(.success(found.metadata))
      // While the provider cannot be asked, the known metadata are still used.
      case .failure(let failure):
        if let known, failure.failureClass.isTransient { return done(.success(known.metadata)) }
        done(.failure(failure))
      }
    }
  }

  /// The metadata that are known without a request; nil if there are none.
  func knownMetadata(of issuer: OIDCIssuer, for backend: BackendSettings) -> ProviderMetadata? {
    ProviderMetadata(issuer, configured: backend.kind.providerEndpoints)
      ?? known[Key(issuer: issuer, backend: backend.name, caFile: backend.kind.caFile)]?.metadata
  }

  /// Asks at the issuer's address. The pool may have gone back to its original issuer meanwhile.
  private func discoverPool(
    _ issuer: OIDCIssuer, _ called: CalledBackend, _ done: @escaping Completion<Known>
  ) {
    discover(issuer, at: issuer, called) { [unowned self] result in
      guard case .failure(let failure) = result, !failure.failureClass.isTransient,
        let original = issuer.originalOfPool
      else { return done(result) }
      discover(issuer, at: original, called, done)
    }
  }

  /// - Parameter place: the issuer at whose address the document is.
  private func discover(
    _ issuer: OIDCIssuer, at place: OIDCIssuer, _ called: CalledBackend,
    _ done: @escaping Completion<Known>
  ) {
    let (clock, backend) = (sender.services.clock, called.settings)
    let endpoints = backend.kind.providerEndpoints
    let exchange = Exchange(
      request: place.discoveryRequest, settings: backend.providerHTTP(timeout: backend.timeout),
      upstream: .backend(backend.name), operation: "discovery"
    ) { reply throws(UpstreamFailure) in
      Known(
        metadata: try ProviderMetadata(
          from: reply, of: issuer, configured: endpoints, for: backend.name),
        until: clock.now + ProviderMetadata.lifetime(of: reply))
    }
    called.send(exchange, done)
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
