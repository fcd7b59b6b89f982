import CredCore

/// State that exchanges keep from one call to the next.
final class ExchangeMemory {
  /// Generates uids of devices at sample servers, and identifiers of assertions.
  var random: any RandomNumberGenerator
  let developerCredentials: DeveloperCredentialsCache
  let discovery: ProviderDiscovery
  let signatureClock: SignatureClock
  let replicas: PoolReplicas
  let enrolments: HostEnrolments

  init(_ sender: Sender, random: any RandomNumberGenerator) {
    self.random = random
    developerCredentials = DeveloperCredentialsCache(sender.services, random: random)
    discovery = ProviderDiscovery(sender)
    signatureClock = SignatureClock(sender.services.clock)
    replicas = PoolReplicas(sender.services.clock, sender.services.log)
    enrolments = HostEnrolments(sender.services.clock, sender.services.log)
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
