package import CredCore

/// Steps of sign-ins by browser and by device code.
extension UpstreamClient {
  package func converse(
    _ call: ProviderCall,
    completion: @escaping (Result<ProviderReply, UpstreamFailure>) -> Void
  ) {
    guard let backend = call.profile.backend else {
      preconditionFailure("a profile without a backend has no provider")
    }
    perform(call.id, for: call.user, in: call.profile, at: backend) {
      [unowned self] (done: @escaping Completion<ProviderReply>) in
      let finish: Completion<ProviderReply> = { [unowned self] result in
        later { done(result) }
      }
      switch call.request {
      case .prepare(let secrets): prepare(secrets, call.profile, finish)
      case .startDeviceGrant(let scopes): startDeviceGrant(scopes, call.profile, finish)
      case .exchange(let code, let redirectURI, let secrets, let provider):
        exchange(call, at: provider, finish) { client, wallTime in
          (
            client.exchange(code: code, redirectURI: redirectURI, secrets),
            { reply throws(UpstreamFailure) in
              .exchanged(
                try client.tokens(from: reply, secrets, wallTime: wallTime),
                serverTime: reply.date)
            }
          )
        }
      case .poll(let grant, let provider):
        exchange(call, at: provider, finish) { client, wallTime in
          (
            client.poll(grant),
            { reply throws(UpstreamFailure) in
              .deviceAnswered(
                client.deviceAnswer(from: reply, wallTime: wallTime), serverTime: reply.date)
            }
          )
        }
      }
    } completion: { result in
      completion(result)
    }
  }

  private typealias Reader = (HTTPReply) throws(UpstreamFailure) -> ProviderReply

  private func exchange(
    _ call: ProviderCall, at provider: ProviderMetadata,
    _ done: @escaping Completion<ProviderReply>,
    _ make: @escaping (OIDCClient, WallTime) -> (HTTPRequest, Reader)
  ) {
    oidcClient(of: call.profile, at: provider) { [unowned self] client in
      switch client {
      case .failure(let failure): done(.failure(failure))
      case .success(let client):
        let (request, read) = make(client, services.clock.wallTime)
        send(
          self.provider(
            request, client, call.profile, secrets: call.request.secrets,
            operation: call.request.label, read: read),
          done)
      }
    }
  }

  private func prepare(
    _ secrets: AuthorizationSecrets, _ profile: Profile, _ done: @escaping Completion<ProviderReply>
  ) {
    let upstream = Upstream.backend(profile.backend?.name ?? "")
    provider(of: profile) { [unowned self] provider in
      loadCrypto(for: upstream) { crypto in
        done(
          Result { () throws(UpstreamFailure) in
            let (provider, crypto) = (try provider.get(), try crypto.get())
            return .prepared(provider, challenge: secrets.challenge(digests: crypto))
          })
      }
    }
  }

  private func startDeviceGrant(
    _ scopes: [String], _ profile: Profile, _ done: @escaping Completion<ProviderReply>
  ) {
    provider(of: profile) { [unowned self] provider in
      switch provider {
      case .failure(let failure): done(.failure(failure))
      case .success(let provider):
        oidcClient(of: profile, at: provider) { [unowned self] client in
          do throws(UpstreamFailure) {
            let client = try client.get()
            guard let request = client.startDeviceGrant(scopes: scopes) else {
              throw .noDeviceGrant(at: client.backend)
            }
            send(
              self.provider(request, client, profile, secrets: [], operation: "device") {
                reply throws(UpstreamFailure) in
                ProviderReply.deviceGranted(try client.deviceGrant(from: reply), at: provider)
              }, done)
          } catch {
            done(.failure(error))
          }
        }
      }
    }
  }
}

extension ProviderConversation.Request {
  /// Its name in metrics.
  fileprivate var label: String {
    switch self {
    case .prepare: "discovery"
    case .startDeviceGrant: "device"
    case .exchange: "code"
    case .poll: "device_poll"
    }
  }
}
