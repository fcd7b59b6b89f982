package import CredCore

/// Steps of sign-ins at user pools.
extension UpstreamClient {
  /// A proof takes milliseconds, behind those of at most as many sign-ins as there are threads.
  private static let proofTimeout: Duration = .seconds(10)

  package func converse(
    _ call: ConversationCall, completion: @escaping (PoolConversation.Event) -> Void
  ) {
    guard let backend = call.profile.backend else {
      preconditionFailure("a profile without a backend has no user pool")
    }
    switch call.step {
    case .compute(let proof): compute(proof, at: .backend(backend.name), call.id, completion)
    case .send(let request):
      perform(call.id, for: call.user, in: call.profile, at: backend) {
        [unowned self] (done: @escaping Completion<PoolReply>) in
        send(request, call.profile, done)
      } completion: { result in
        switch result {
        case .success(let reply): completion(.replied(reply))
        case .failure(let failure): completion(.failed(failure))
        }
      }
    }
  }

  private func compute(
    _ proof: PoolProof, at upstream: Upstream, _ id: CallID,
    _ done: @escaping (PoolConversation.Event) -> Void
  ) {
    register(id, in: nil)
    let completion = { [unowned self] (event: PoolConversation.Event) in
      if end(id) { done(event) }
    }
    loadCrypto(for: upstream) { [unowned self] crypto in
      switch crypto {
      case .failure(let failure): later { completion(.failed(failure)) }
      case .success(let crypto):
        let deadline = services.clock.now + Self.proofTimeout
        services.background.runOnce(.proofs, deadline: deadline) {
          proof.computed(by: crypto)
        } completion: { result in
          completion(
            result.map { .computed($0) } ?? .failed(.proofOverdue(for: upstream)))
        }
      }
    }
  }

  private func send(
    _ request: PoolRequest, _ profile: Profile, _ done: @escaping Completion<PoolReply>
  ) {
    userPoolClient(of: profile) { [unowned self] client in
      switch client {
      case .failure(let failure): later { done(.failure(failure)) }
      case .success(let client):
        let upstream = Upstream.backend(client.backend)
        loadCrypto(for: upstream) { [unowned self] crypto in
          do throws(UpstreamFailure) {
            let crypto = try crypto.get()
            let http = try Self.checked(upstream) { () throws(InvalidInput) in
              try client.request(request, deviceName: services.hostName, digests: crypto)
            }
            send(
              pool(
                http, client, profile, secrets: request.secrets, isSentOnce: true,
                operation: request.label
              ) { reply throws(UpstreamFailure) in try client.reply(reply, to: request) }, done)
          } catch {
            later { done(.failure(error)) }
          }
        }
      }
    }
  }
}
