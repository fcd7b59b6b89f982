import CredCore

/// How `check` reads what a provider of OpenID Connect answers.
enum ProviderProbe {
  /// The discovery document must fit the configuration. It says where the keys and the token endpoint
  /// are.
  case discovery(OIDCIssuer, ProviderEndpoints)
  /// By them Cognito verifies ID tokens.
  case keys

  /// What is asked next.
  ///
  /// - Throws: why the answer is of no use.
  func places(
    after reply: HTTPReply, _ place: ProbedPlace
  ) throws(UpstreamFailure) -> [ProbedPlace] {
    guard case .backend(let backend) = place.upstream else { return [] }
    let document = try? JSONValue.parse(reply.body.bytes)
    switch self {
    case .discovery(let issuer, let endpoints):
      let metadata = try ProviderMetadata(
        from: reply, of: issuer, configured: endpoints, for: backend)
      guard let keys = document?["jwks_uri"]?.text, let url = try? HTTPURL(keys),
        url.isEncrypted || url.isLoopback && issuer.isLoopback
      else { throw .unusableKeys(of: backend) }
      return [
        ProbedPlace(
          name: "\(place.name) keys", upstream: place.upstream, url: keys,
          settings: place.settings, queue: place.queue, reading: .keys),
        .tokenEndpoint(metadata.token, of: place),
      ]
    case .keys:
      guard reply.status == 200, case .array(let keys)? = document?["keys"], !keys.isEmpty else {
        throw .unusableKeys(of: backend)
      }
      return []
    }
  }
}

extension ProbedPlace {
  /// Any answer will do: without a form it is a refusal.
  fileprivate static func tokenEndpoint(_ url: HTTPURL, of place: ProbedPlace) -> ProbedPlace {
    ProbedPlace(
      name: "\(place.name) token endpoint", upstream: place.upstream, url: url.text,
      settings: place.settings, queue: place.queue)
  }
}

extension UpstreamClient {
  /// The discovery document, with what it names. Where the configuration has what a sign-in needs,
  /// credd asks for no such document: then the token endpoint alone.
  func providerPlaces(of profile: Profile, _ backend: BackendSettings) -> [ProbedPlace] {
    guard let text = profile.plan.backend.issuer?.issuer, let issuer = try? OIDCIssuer(text) else {
      return []
    }
    let endpoints = backend.providerEndpoints
    let place = ProbedPlace(
      name: "backend \(backend.name)", upstream: .backend(backend.name), url: issuer.discoveryURL,
      settings: probing(backend.providerHTTP(timeout: backend.timeout)),
      queue: queues.queue(of: backend),
      reading: .discovery(issuer, endpoints))
    guard let known = ProviderMetadata(issuer, configured: endpoints) else { return [place] }
    return [.tokenEndpoint(known.token, of: place)]
  }
}
