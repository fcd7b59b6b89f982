import TestSupport
import Testing

@testable import CredCore

/// What a profile's configuration means for its sessions.
struct ProfileTests {
  private func profile(_ lines: String, backend: String = "") throws -> Profile {
    let text = """
      \(backend)
      [profile work]
      identity_pool_id = eu-west-1:11111111-2222-3333-4444-555555555555
      \(lines)
      """
    let reading = Configuration.read(
      [ConfigurationSource(name: "credd.conf", bytes: Array(text.utf8))], environment: { _ in nil })
    let configuration = try #require(reading.configuration, "\(reading.diagnostics)")
    let settings = try #require(configuration.profiles["work"])
    return try Profile(settings, in: configuration) { _ in nil }
  }

  private let corp = "[backend corp]\ntype = http\nurl = https://auth.example.com/token\n"
  private let use = "backend = corp\ndeveloper_provider = login.example.app\n"

  private func login(_ signIn: SignInInput, role: String? = nil) -> LoginRequest {
    LoginRequest(profile: "work", signIn: signIn, customRoleARN: role)
  }

  @Test func backendWithoutALoginTrustsTheHost() throws {
    let profile = try profile(use, backend: corp)
    expect(profile.plan.backend, equals: .host)
    expect(profile.plan.way, equals: .pool(PoolPlan()))
    expect(profile.needsUserName)
    expect(
      profile.identityPool?.cognito.host.url,
      equals: "https://cognito-identity.eu-west-1.amazonaws.com/")
    expect(profile.refusal(of: login(.host)) == nil)
    expect(
      profile.refusal(of: login(.password(username: "alice", password: Secret("x"))))?.code,
      equals: .invalidRequest)
  }

  @Test func backendWithALoginWantsAPassword() throws {
    let profile = try profile(
      use, backend: corp + "login_url = https://auth.example.com/login\n")
    expect(profile.plan.backend, equals: .password)
    expect(profile.refusal(of: login(.host))?.code, equals: .signInRequired)
    expect(
      profile.refusal(of: login(.password(username: "alice", password: Secret("x")))) == nil)
  }

  @Test func withoutAUserPoolANameAloneIsNoSignInAndNobodyReadsMetadata() throws {
    for backend in ["", "login_url = https://auth.example.com/login\n"] {
      let profile = try profile(use, backend: corp + backend)
      let refusal = profile.refusal(of: login(.username("alice")))
      expect(refusal?.code, equals: .invalidRequest)
      expect(refusal?.message.hasPrefix(#""username" needs "password""#) == true)
      var withMetadata = login(.host)
      withMetadata.metadata = ClientMetadata()
      expect(profile.refusal(of: withMetadata)?.message.contains("user pool") == true)
      var withData = login(.host)
      withData.validationData = ClientMetadata()
      expect(profile.refusal(of: withData)?.code, equals: .invalidRequest)
    }
  }

  @Test func withoutABackendOnlyTokensSignIn() throws {
    let profile = try profile("")
    expect(profile.plan.backend, equals: .none)
    expect(!profile.needsUserName)
    expect(profile.refusal(of: login(.host))?.code, equals: .invalidRequest)
    let logins = try LoginsMap([("accounts.google.com", Secret("token"))])
    expect(profile.refusal(of: login(.logins(logins))) == nil)
  }

  @Test func identityOfAnotherRegionIsRefusedBeforeAnyCall() throws {
    let profile = try profile("")
    let token = try DeveloperToken(Secret("token"))
    let there = try IdentityID("us-east-1:11111111-2222-3333-4444-555555555555")
    let here = try IdentityID("eu-west-1:11111111-2222-3333-4444-555555555555")
    expect(
      profile.refusal(of: login(.developerToken(identityID: there, token: token)))?.code,
      equals: .invalidRequest)
    expect(profile.refusal(of: login(.developerToken(identityID: here, token: token))) == nil)
  }

  @Test func aChosenIdentityTakesLoginsThatStandAloneWhereTheBackendLinks() throws {
    let logins = try LoginsMap([("accounts.google.com", Secret("token"))])
    let here = try IdentityID("eu-west-1:11111111-2222-3333-4444-555555555555")
    let there = try IdentityID("us-east-1:11111111-2222-3333-4444-555555555555")
    let direct = try profile("")
    expect(direct.refusal(of: login(.logins(logins, identityID: here))) == nil)
    expect(
      direct.refusal(of: login(.logins(logins, identityID: there)))?.code, equals: .invalidRequest)
    let linking = try profile(use, backend: corp)
    expect(
      linking.refusal(of: login(.logins(logins, identityID: here)))?.message.contains("alone")
        == true)
    expect(
      linking.refusal(of: login(.logins(logins, identityID: here, isAlone: true))) == nil)
  }

  @Test func getCarriesNoLogins() throws {
    let logins = try LoginsMap([("accounts.google.com", Secret("token"))])
    let profile = try profile(use, backend: corp + "method = GET\n")
    let refused = try #require(profile.refusal(of: login(.logins(logins))))
    expect(refused.code, equals: .invalidRequest)
    expect(refused.message.contains("method = GET"))
    expect(profile.refusal(of: login(.logins(logins, isAlone: true))) == nil)
    // So they are a way to sign in.
    expect(profile.signInMeans, equals: [.host, .token, .logins])
  }

  @Test func accountsAreTheBackends() throws {
    let signUp = AccountRequest(
      input: .signUp(SignUp(username: "alice", password: Secret("secret123"))))
    let change = AccountRequest(
      input: .own(.changePassword(from: Secret("old"), to: Secret("new"))))
    expect(try profile("").refusal(of: signUp)?.message.contains("no backend") == true)
    let closed = try profile(use, backend: corp)
    expect(closed.refusal(of: signUp)?.message.contains("register_url") == true)
    let open = try profile(
      use, backend: corp + "register_url = https://auth.example.com/register\n")
    expect(open.refusal(of: signUp) == nil)
    let refused = try #require(open.refusal(of: change))
    expect(refused.code, equals: .invalidRequest)
    expect(refused.message.contains(#"does not offer the action "change-password""#))
  }

  @Test func basicFlowTakesNoCustomRole() throws {
    let role = "arn:aws:iam::123456789012:role/app"
    let profile = try profile("guest = yes\nflow = basic\nrole_arn = \(role)\n")
    expect(profile.plan.way, equals: .pool(PoolPlan(.basic, allowsGuests: true)))
    let logins = try LoginsMap([("accounts.google.com", Secret("token"))])
    let error = try #require(profile.refusal(of: login(.logins(logins), role: role)))
    expect(error.code, equals: .invalidRequest)
    expect(error.message.contains("basic"))
  }

  @Test func aTokenFileSignsInUnattended() throws {
    let profile = try profile(
      "web_identity_token_file = /run/token\nweb_identity_provider = oidc.example.com\n")
    expect(profile.plan.tokenFileProvider, equals: "oidc.example.com")
    expect(profile.refusal(of: login(.host)) == nil)
  }
}
