import TestSupport
import Testing

@testable import SandboxKit

struct SeedTests {
  static func seed(_ text: String) throws(ServiceError) -> SandboxSeed {
    try SandboxSeed(json: Array(text.utf8))
  }

  @Test func readsAll() throws {
    let seed = try Self.seed(
      """
      {"Pools":[{"Id":"eu-west-1:0a","DeveloperProvider":"dev","Unauthenticated":true,
        "AuthenticatedRole":"arn:aws:iam::1:role/a","Providers":{"accounts.google.com":"c"}}],
       "Roles":[{"Arn":"arn:aws:iam::1:role/a","Pool":"eu-west-1:0a","MaximumSessionDuration":7200}],
       "Users":[{"Name":"zoe","Password":"p","RequireSession":true}],
       "DeveloperKeys":{"AKIA":"s"},"AnyUser":true,"TokenLifetime":60,"BackendToken":"b"}
      """)
    expect(seed.pools.map(\.id), equals: ["eu-west-1:0a"])
    expect(seed.pools[0].allowsGuests)
    expect(seed.roles[0].maximumSessionDuration, equals: 7200)
    expect(seed.users[0].requiresSession)
    expect(seed.developerKeys, equals: ["AKIA": "s"])
    expect(seed.tokenLifetime, equals: 60)
    expect(seed.credentialLifetime, equals: 3600)
  }

  @Test(arguments: [
    ("nope", "the seed is not JSON"),
    ("[]", "body must be a JSON object"),
    ("{\"Polls\":[]}", "Polls is not a known field"),
    ("{\"Pools\":[{}]}", "Pools[0].Id is required"),
    ("{\"Pools\":[{\"Id\":\"x\"}]}", "Pools[0].Id must be REGION:UUID"),
    ("{\"Users\":[{\"Name\":\"a\"},1]}", "Users[1] must be a JSON object"),
    (
      "{\"Roles\":[{\"Arn\":\"x\"}]}", "Roles[0].Arn must be the ARN of a role"
    ),
    ("{\"TokenLifetime\":-1}", "TokenLifetime must be an integer from 0 to 86400"),
  ])
  func namesTheBadField(_ text: String, _ message: String) {
    let error = #expect(throws: ServiceError.self) { try Self.seed(text) }
    expect(error?.message, equals: message)
  }
}
