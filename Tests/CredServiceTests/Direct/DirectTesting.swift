import CredCore
import TestSupport
import Testing

@testable import CredService
@testable import ServiceTesting

/// Sessions of `flow = direct` at a provider that answers at once.
protocol DirectTesting {}

extension DirectTesting {
  static var role: String { "arn:aws:iam::123456789012:role/staff" }
  static var policyPath: String { "/etc/credd/readonly.json" }

  static func policy(_ action: String = "s3:GetObject", for user: String) -> String {
    #"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"\#(action)","Resource":"arn:aws:s3:::b/\#(user)/*"}]}"#
  }

  static func text(_ keys: String = "", more: String = "") -> String {
    """
    [backend okta]
    type = oidc
    issuer = \(FakeProvider.issuer)
    client_id = client-1
    redirect_uri = http://127.0.0.1/
    sign_in = browser paste device
    timeout = 2s
    [profile default]
    flow = direct
    backend = okta
    region = eu-west-1
    role_arn = \(role)
    \(keys)
    \(more)

    """
  }

  func fixture(
    _ text: String = Self.text()
  ) throws -> (fixture: ServiceFixture, provider: FakeProvider) {
    let host = FakeHost()
    host.queries.files[Self.policyPath] = Self.policy(for: "{user}")
    let fixture = try ServiceFixture(text, host: host)
    return (fixture, FakeProvider(fixture))
  }

  /// A fixture whose user has signed in.
  func signedIn(
    _ text: String = Self.text(), _ location: SourceLocation = #_sourceLocation
  ) throws -> (fixture: ServiceFixture, provider: FakeProvider) {
    let (fixture, provider) = try fixture(text)
    let reply = try fixture.signInAtProvider(provider)
    expect(reply.state, equals: "signedIn", "\(reply)")
    return (fixture, provider)
  }

  /// The forms of all calls of STS for a role, in order.
  func forms(_ fixture: ServiceFixture) -> [[String: String]] {
    fixture.host.http.requests.filter { $0.url.contains("sts.") }.map { FakeProvider.form($0) }
  }

  func calls(_ fixture: ServiceFixture) -> Int {
    fixture.host.upstreams.calls("AssumeRoleWithWebIdentity")
  }

  func refuse(_ fixture: ServiceFixture, _ code: String, _ message: String, count: Int? = nil) {
    fixture.host.upstreams.faults["AssumeRoleWithWebIdentity"] = .init(
      answer: FakeSTS.refusal(code == "AccessDenied" ? 403 : 400, code, message), count: count)
  }
}
