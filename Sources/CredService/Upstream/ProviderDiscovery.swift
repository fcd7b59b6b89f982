import CredCore

/// The URLs of providers: configured, or from their discovery documents, which are kept for some time.
final class ProviderDiscovery {
  /// Whose discovery document was read. Two profiles with the same backend share it.
  private struct Key: Hashable {
    let issuer: OIDCIssuer
    let backend: String
    let caFile: String?
  }

  /// What is known of a provider, and for how long.
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

  /// - Parameter backend: of a provider.
  func metadata(
    of issuer: OIDCIssuer, for backend: BackendSettings,
    _ done: @escaping Completion<ProviderMetadata>
  ) {
    if let metadata = ProviderMetadata(issuer, configured: backend.kind.providerEndpoints) {
      return done(.success(metadata))
    }
    let key = Key(issuer: issuer, backend: backend.name, caFile: backend.kind.caFile)
    let known = self.known[key]
    if let known, known.until > sender.services.clock.now { return done(.success(known.metadata)) }
    discoverPool(issuer, backend) { [unowned self] result in
      switch result {
      case .success(let found):
        self.known[key] = found
        done(.success(found.metadata))
      // What was known stays of use while the provider cannot be asked.
      case .failure(let failure):
        if let known, failure.failureClass.isTransient { return done(.success(known.metadata)) }
        done(.failure(failure))
      }
    }
  }

  /// What is known already, without a request; nil if nothing is.
  func knownMetadata(of issuer: OIDCIssuer, for backend: BackendSettings) -> ProviderMetadata? {
    ProviderMetadata(issuer, configured: backend.kind.providerEndpoints)
      ?? known[Key(issuer: issuer, backend: backend.name, caFile: backend.kind.caFile)]?.metadata
  }

  /// Asks where the issuer says. The pool may have turned back to its original issuer meanwhile.
  private func discoverPool(
    _ issuer: OIDCIssuer, _ backend: BackendSettings, _ done: @escaping Completion<Known>
  ) {
    discover(issuer, at: issuer, backend) { [unowned self] result in
      guard case .failure(let failure) = result, !failure.failureClass.isTransient,
        let original = issuer.originalOfPool
      else { return done(result) }
      discover(issuer, at: original, backend, done)
    }
  }

  /// - Parameter place: the issuer under which the document is.
  private func discover(
    _ issuer: OIDCIssuer, at place: OIDCIssuer, _ backend: BackendSettings,
    _ done: @escaping Completion<Known>
  ) {
    let clock = sender.services.clock
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
    sender.send(exchange, done)
  }
}

extension BackendSettings {
  /// How a provider's URLs are reached.
  func providerHTTP(timeout: Duration) -> HTTPSettings {
    var settings = HTTPSettings(timeout: timeout, replyLimit: Limits.OIDC.replyBytes)
    settings.caFile = kind.caFile
    return settings
  }
}
