import CredCore
import ServiceTesting

@testable import ServiceTesting

extension Story {
  /// An administrator sets credd up, and makes one mistake after the other.
  static func firstMistakes() throws -> Telling {
    let right = Configured.work.replacing(
      "cognito_endpoint = http://127.0.0.1:4599", with: "allow_users = alice")
    let story = try Story(
      "The mistakes of a first hour", right.replacing("us-east-1:", with: "us-esat-1:"))
    try story.mistypeRegion()
    try story.reload(right)
    try story.mistakeOf("identity_pool_id is another pool's", pool)
    try story.mistakeOf("the path of url is wrong", .status(404, "404 page not found\n"))
    try story.mistakeOf("url has another name than the certificate", .failure(otherHost))
    try story.mistakeOf("url has https://, but the port has no TLS", .failure(.notTLS))
    try story.mistakeOf("the host's own key is damaged", .failure(.ownFile))
    try story.mistakesOfTheProxy()
    story.tell("all is right, and root and bob try it")
    try story.run("get work", by: .root)
    try story.run("get work", by: .bob)
    try story.run("get nothing", by: .bob)
    return try story.end()
  }

  private func mistypeRegion() throws {
    let lost = TransportFailure.nameResolution
    fixture.host.http.answer = { [answer = fixture.host.http.answer] request in
      request.url.contains("us-esat-1") ? .failure(lost) : answer(request)
    }
    upstreams.faults["token"] = .status(
      200, #"{"IdentityId":"us-esat-1:00000000-1111-2222-3333-000000000001","Token":"token"}"#)
    tell("the region of identity_pool_id is mistyped")
    try run("get work")
    try run("status --all", by: .root)
    upstreams.faults["token"] = nil
  }

  private func mistakeOf(_ what: String, _ fault: FakeUpstreams.Fault) throws {
    pass(.seconds(300))
    tell(what) { upstreams.faults["token"] = fault }
    try run("get work")
    upstreams.faults["token"] = nil
  }

  private func mistakesOfTheProxy() throws {
    let unreadable = TransportFailure(
      unreadable: InvalidInput(
        field: "https_proxy", reason: "the URL's port is not a number from 1 to 65535"))
    try mistakeOf("the port in https_proxy is mistyped", .failure(unreadable))
    var lost = TransportFailure(.proxyConnect, reason: "Connection refused")
    lost.proxy = Proxy.Name(variable: "https_proxy", address: "proxy.example.com:3128")
    try mistakeOf("the proxy does not run", .failure(lost))
    var refused = TransportFailure(.proxyRefused)
    (refused.proxy, refused.proxyStatus) = (lost.proxy, 407)
    try mistakeOf("the proxy wants a password", .failure(refused))
  }

  private static let pool = FakeUpstreams.Fault.status(
    502,
    #"{"message":"An error occurred (ResourceNotFoundException) when calling the "#
      + #"GetOpenIdTokenForDeveloperIdentity operation: IdentityPool '\#(FakeUpstreams.pool)' not found."}"#
  )

  private static var otherHost: TransportFailure {
    var failure = TransportFailure.otherHost
    failure.certificateNames = ["other.example"]
    return failure
  }
}
