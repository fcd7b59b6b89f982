import TestSupport
import Testing

@testable import CredCore

/// `replica_region` and `replica_endpoint`.
struct ReplicaConfigurationTests {
  private static func text(_ keys: String, endpoint: String = "") -> String {
    """
    [backend staff]
    type = user-pool
    user_pool_id = eu-west-1_AbCdEf123
    client_id = 1example23456789
    \(endpoint)
    \(keys)
    [profile p]
    identity_pool_id = \(examplePool)
    backend = staff

    """
  }

  @Test(arguments: [
    "replica_region = eu-central-1", "replica_endpoint = https://replica.example.com",
    "replica_region = eu-central-1\nreplica_endpoint = http://127.0.0.1:4601",
  ])
  func aReplicaIsARegionOrAnEndpoint(_ keys: String) {
    expect(problems(inText: Self.text(keys)), equals: [])
  }

  @Test(arguments: [
    ("replica_region = eu-west-1", "replica_region: 'eu-west-1' is the pool's own region"),
    ("replica_region = cn-north-1", "replica_region: 'cn-north-1' is of partition 'aws-cn'"),
    ("replica_region = EU Central", "replica_region: 'EU Central' is not a region of AWS"),
    ("replica_region = eu-centrall-1", "did you mean 'eu-central-1'?"),
    (
      "replica_endpoint = https://cognito-idp.EU-west-1.amazonaws.com",
      "replica_endpoint: is the server of the pool's own region"
    ),
    ("replica_endpoint = http://replica.example.com", "would send secrets in clear"),
    ("replica_endpoint = replica", "replica_endpoint: "),
  ])
  func whatCannotBeOneIsAnError(_ keys: String, _ words: String) {
    let found = problems(inText: Self.text(keys))
    expect(found.count == 1 && found[0].contains(words), "\(found)")
  }

  /// Requests to a server of one's own never go to AWS.
  @Test func besideAnEndpointTheReplicasIsNeeded() {
    let endpoint = "user_pool_endpoint = http://127.0.0.1:4600"
    let found = problems(inText: Self.text("replica_region = eu-central-1", endpoint: endpoint))
    expect(found.count == 1 && found[0].hasSuffix("replica_region: requires 'replica_endpoint'"))
    let same = problems(
      inText: Self.text("replica_endpoint = http://127.0.0.1:4600", endpoint: endpoint))
    expect(same.count == 1 && same[0].contains("is the server of the pool's own region"), "\(same)")
  }

  @Test func theReplicasHostIsTheRegionsAndTheClientIsThePrimarys() throws {
    var settings = UserPoolSettings()
    settings.userPoolID = "eu-west-1_AbCdEf123"
    settings.clientID = "1example23456789"
    settings.replicaRegion = "eu-central-1"
    var profile = ProfileSettings(name: "p", way: .tokens)
    profile.fips = false
    let plain = try settings.replicaHost(in: profile)
    profile.fips = true
    let hosts = [plain, try settings.replicaHost(in: profile)].map { $0?.url }
    expect(
      hosts,
      equals: [
        "https://cognito-idp.eu-central-1.amazonaws.com/",
        "https://cognito-idp-fips.eu-central-1.amazonaws.com/",
      ])
    let client = try UserPoolClient(
      backend: "staff", host: settings.host(in: profile), pool: UserPoolID(settings.userPoolID),
      id: settings.clientID, secret: nil)
    let host = try settings.replicaHost(in: profile)
    let replica = try #require(host)
    expect(client.asking(replica).issuer, equals: client.issuer)
    expect(client.asking(replica).host, equals: replica)
  }

  @Test(arguments: [
    (TransportFailure.connect, true), (.timeout, true), (.reset, true), (.nameResolution, true),
  ])
  func aFailureWithoutAReplyMeansAnOutage(_ failure: TransportFailure, _ isOne: Bool) {
    expect(
      UpstreamFailure.transport(failure, from: .backend("staff")).meansOutage, equals: isOne)
  }
}
