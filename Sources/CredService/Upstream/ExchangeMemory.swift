import CredCore

/// What exchanges are made with, and the state that they keep from one call to the next.
final class ExchangeMemory {
  let services: UpstreamServices
  /// Generates uids of devices at sample servers, and identifiers of assertions.
  var random: any RandomNumberGenerator
  let developerCredentials: DeveloperCredentialsCache
  let discovery: ProviderDiscovery
  let signatureClock: SignatureClock
  let replicas: PoolReplicas
  let enrolments: HostEnrolments

  init(_ services: UpstreamServices, random: any RandomNumberGenerator) {
    self.services = services
    self.random = random
    developerCredentials = DeveloperCredentialsCache(services, random: random)
    discovery = ProviderDiscovery(services.clock)
    signatureClock = SignatureClock(services.clock)
    replicas = PoolReplicas(services.clock, services.log)
    enrolments = HostEnrolments(services.clock, services.log)
  }

  /// Drops the state of the old backends.
  func forget() {
    developerCredentials.removeAll()
    discovery.forget()
    signatureClock.forget()
    replicas.forget()
    enrolments.forget()
  }
}
